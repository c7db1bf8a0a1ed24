// A TypeScript agent as somebody has it: the OpenTelemetry SDK, set up by its environment variables. --worse skips a step.
import { setTimeout } from "node:timers/promises";
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, NodeTracerProvider } from "@opentelemetry/sdk-trace-node";

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
const tracer = trace.getTracer("shop");

async function call(tool: string, args: Record<string, string>): Promise<void> {
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool,
    "gen_ai.tool.call.arguments": JSON.stringify(args),
  };
  await tracer.startActiveSpan(tool, { attributes }, async (span) => {
    await setTimeout(5); // the SDK gives starts in whole milliseconds
    span.end();
  });
}

for (let number = 0; number < 5; number++) {
  const attributes = { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop" };
  await tracer.startActiveSpan("invoke_agent shop", { attributes }, async (run) => {
    await call("lookup_order", { order_id: `ord_${number}` });
    if (!process.argv.includes("--worse") || number % 2 === 1) await call("check_policy", {});
    await call("refund_card", { order_id: `ord_${number}` });
    run.end();
  });
}
await provider.shutdown();
