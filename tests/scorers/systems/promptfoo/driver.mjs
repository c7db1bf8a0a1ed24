// Runs promptfoo's assertions on trajectories: one JSON case a line in, one JSON answer a line out, as the driver in ../node does.
import readline from "node:readline";
import promptfoo from "promptfoo";

const span = (call, index) => ({
  spanId: String(index),
  name: `execute_tool ${call.tool}`,
  startTime: index,
  endTime: index,
  attributes: {
    "gen_ai.tool.name": call.tool,
    ...("text" in call && { "gen_ai.tool.call.arguments": call.text }), // JavaScript would not write -0 and 1e400 as they were
  },
});

async function answer({ id, actual, options }) {
  const type = `${options.not ? "not-" : ""}trajectory:${options.assertion}`;
  try {
    const { score, pass } = await promptfoo.assertions.runAssertion({
      prompt: "question",
      assertion: { type, value: options.value },
      test: { vars: {} },
      vars: {},
      providerResponse: { output: "answer" },
      traceId: "t",
      traceData: { traceId: "t", spans: actual.map(span) },
    });
    return { id, ok: true, score, detail: { pass } };
  } catch (error) {
    return { id, ok: false, error: String(error?.message ?? error) };
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
process.exit(0);
