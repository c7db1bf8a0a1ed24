// Runs the original scorers: one JSON case a line in, one JSON answer a line out.
//
// A case is {id, system, expected: [{tool, args?}], actual: [{tool, args?, state?}], options}; an answer is
// {id, ok: true, score, detail} or {id, ok: false, error}. With `--bench SECONDS` each case is repeated for
// that long instead, and the answer is {id, per_second}.
import readline from "node:readline";
import { checks } from "@mastra/evals/checks";
import {
  createToolCallAccuracyScorerCode,
  createToolCallAccuracyScorerLLM,
  createTrajectoryAccuracyScorerCode,
  createTrajectoryScorerCode,
} from "@mastra/evals/scorers/prebuilt";
import { createAgentTestRun, createTestMessage, createTrajectoryTestRun } from "@mastra/evals/scorers/utils";
import { toolCallAccuracy } from "evalite/scorers/deterministic";

const invocation = (call, index) => ({
  toolCallId: `call-${index}`,
  toolName: call.tool,
  args: call.args ?? {},
  state: call.state ?? "result",
  ...(call.state === "output-error" ? { errorText: "failed" } : { result: "done" }),
  ...("result" in call && { result: call.result }),
  ...("isError" in call && { isError: call.isError }),
});

const part = (toolInvocation) => ({ type: "tool-invocation", toolInvocation });

function messages(calls, layout, text) {
  const message = (id, fields) => createTestMessage({ id, role: "assistant", content: text, ...fields });
  const invocations = calls.map(invocation);
  if (layout === "parts") {
    return [message("reply", { parts: [{ type: "text", text }, ...invocations.map(part)] })];
  }
  if (layout === "per_message") {
    return [...invocations.map((one, i) => message(`reply-${i}`, { toolInvocations: [one] })), message("last", {})];
  }
  return [message("reply", { toolInvocations: invocations })];
}

function testRun({ actual, options }) {
  const question = createTestMessage({ role: "user", content: options.userInput ?? "question" });
  return createAgentTestRun({
    inputMessages: [question],
    output: messages(actual, options.layout, options.agentResponse ?? "answer"),
  });
}

// A judge that answers the analysis with the given text and every later free-text question with `reason`.
// It is a language model as the AI SDK's second provider interface wants one.
function mockJudge(answer, reason) {
  const judge = { calls: 0, prompts: [] };
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const reply = (request) => {
    judge.calls += 1;
    judge.prompts.push(request.prompt);
    return JSON.stringify(request.prompt).includes("ONE SENTENCE") ? reason : answer;
  };
  judge.model = {
    specificationVersion: "v2",
    provider: "mock",
    modelId: "judge",
    supportedUrls: {},
    async doGenerate(request) {
      return { content: [{ type: "text", text: reply(request) }], finishReason: "stop", usage, warnings: [] };
    },
    async doStream(request) {
      const text = reply(request);
      const stream = new ReadableStream({
        start(controller) {
          controller.enqueue({ type: "stream-start", warnings: [] });
          controller.enqueue({ type: "text-start", id: "0" });
          controller.enqueue({ type: "text-delta", id: "0", delta: text });
          controller.enqueue({ type: "text-end", id: "0" });
          controller.enqueue({ type: "finish", finishReason: "stop", usage });
          controller.close();
        },
      });
      return { stream };
    },
  };
  return judge;
}

async function mastraCode(single) {
  const { layout, ...options } = single.options;
  const scored = await createToolCallAccuracyScorerCode(options).run(testRun(single));
  const { actualTools, hasToolCalls, correctToolCalled, correctOrderCalled } = scored.preprocessStepResult;
  return { score: scored.score, detail: { actualTools, hasToolCalls, correctToolCalled, correctOrderCalled } };
}

async function mastraLLM(single) {
  const { judge: answer, availableTools = [], reason = "because", prompts = false } = single.options;
  const judge = mockJudge(typeof answer === "string" ? answer : JSON.stringify(answer), reason);
  const scored = await createToolCallAccuracyScorerLLM({ model: judge.model, availableTools }).run(testRun(single));
  const detail = { reason: scored.reason, judgeCalls: judge.calls, analyze: scored.analyzeStepResult };
  if (prompts) detail.prompts = judge.prompts;
  return { score: scored.score, detail };
}

const step = (call, typed) => ({
  name: call.tool,
  ...(typed && { stepType: "tool_call" }),
  ...("args" in call && { toolArgs: call.args }),
  ...("success" in call && { success: call.success }),
});

async function mastraTrajectory({ expected, actual, options }) {
  const { scorer, typed = false, weights, ordering, allowRepeatedSteps, ...budgets } = options;
  const trajectory = { steps: actual.map((call) => step(call, true)) };
  const steps = expected.map((call) => step(call, typed));
  const comparison = { ...(ordering && { ordering }), ...(allowRepeatedSteps !== undefined && { allowRepeatedSteps }) };
  if (scorer === "accuracy") {
    const code = createTrajectoryAccuracyScorerCode({ expectedTrajectory: steps, comparisonOptions: comparison });
    const scored = await code.run(createTrajectoryTestRun({ trajectory }));
    return { score: scored.score, detail: { comparison: scored.preprocessStepResult.comparison } };
  }
  const code = createTrajectoryScorerCode({ defaults: { steps, ...comparison, ...budgets }, weights });
  const scored = await code.run(createTrajectoryTestRun({ trajectory }));
  const { accuracy, efficiency, blacklist, toolFailures } = scored.preprocessStepResult;
  return { score: scored.score, detail: { reason: scored.reason, accuracy, efficiency, blacklist, toolFailures } };
}

async function mastraChecks(single) {
  const { check, arg, times } = single.options;
  const scored = await checks[check](arg, ...(times === undefined ? [] : [{ times }])).run(testRun(single));
  return { score: scored.score, detail: scored.preprocessStepResult };
}

const toEvalite = (call) => ("args" in call ? { toolName: call.tool, input: call.args } : { toolName: call.tool });

async function evalite({ expected, actual, options }) {
  const calls = { actualCalls: actual.map(toEvalite), expectedCalls: expected.map(toEvalite) };
  const { score, metadata } = await toolCallAccuracy({ ...calls, ...options });
  return { score, detail: metadata };
}

const SYSTEMS = {
  mastra_checks: mastraChecks,
  mastra_code: mastraCode,
  mastra_llm: mastraLLM,
  mastra_trajectory: mastraTrajectory,
  evalite,
};

async function answer(single) {
  try {
    return { id: single.id, ok: true, ...(await SYSTEMS[single.system](single)) };
  } catch (error) {
    return { id: single.id, ok: false, error: String(error?.message ?? error) };
  }
}

async function perSecond(single, seconds) {
  const start = performance.now();
  let runs = 0;
  do {
    await answer(single);
    runs += 1;
  } while (performance.now() - start < seconds * 1000);
  return runs / ((performance.now() - start) / 1000);
}

async function bench(single, seconds) {
  await perSecond(single, seconds); // until the code is compiled
  return { id: single.id, per_second: await perSecond(single, seconds) };
}

const seconds = process.argv[2] === "--bench" ? Number(process.argv[3]) : 0;
console.log = console.info = console.warn = console.error = () => {}; // the packages log; stdout is for answers
for await (const line of readline.createInterface({ input: process.stdin })) {
  const single = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(seconds ? await bench(single, seconds) : await answer(single))}\n`);
}
