// Conversations with the JavaScript SDKs, driven line by line over stdin and stdout: node conversation.mjs MODULES
// In: {"on": 1, "open": {"kind": "chat", "url": "...", "session": "...", "streamed": true}}, then {"on": 1, "say": "..."} or
// {"on": 1, "result": "...", "call": 0}. Out, for all but open: {"text": "...", "calls": 1} or {"error": {...}}.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.argv[2] + "/");
const system = "You are the client's own instruction.";
const tool = { name: "run_tests", description: "Runs the test suite" };
const schema = { type: "object", properties: { suite: { type: "string" } }, required: ["suite"] };

const named = (session) => ({ "x-hookgate-session": session });

function anthropic({ url, session, streamed }) {
  const { Anthropic } = require("@anthropic-ai/sdk");
  const client = new Anthropic({ baseURL: url, apiKey: "sk-test", maxRetries: 0, defaultHeaders: named(session) });
  return {
    said: (text) => ({ role: "user", content: text }),
    result: (call, text) => ({ role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: text }] }),
    async ask(messages) {
      const tools = [{ ...tool, input_schema: schema }];
      const wanted = { model: "scripted", max_tokens: 100, system, tools, messages };
      const answer = await (streamed ? client.messages.stream(wanted).finalMessage() : client.messages.create(wanted));
      const text = answer.content.map((block) => block.text ?? "").join("");
      return { text, calls: answer.content.filter(({ type }) => type === "tool_use"), kept: [{ role: "assistant", content: answer.content }] };
    },
  };
}

function openai({ url, session }) {
  const { OpenAI } = require("openai");
  return new OpenAI({ baseURL: url + "/v1", apiKey: "sk-test", maxRetries: 0, defaultHeaders: named(session) });
}

function chat(options) {
  const client = openai(options);
  return {
    opening: [{ role: "system", content: system }],
    said: (text) => ({ role: "user", content: text }),
    result: (call, text) => ({ role: "tool", tool_call_id: call.id, content: text }),
    async ask(messages) {
      const wanted = { model: "scripted", messages, tools: [{ type: "function", function: { ...tool, parameters: schema } }] };
      const completions = client.chat.completions;
      const answer = await (options.streamed ? completions.stream(wanted).finalChatCompletion() : completions.create(wanted));
      const { content, tool_calls } = answer.choices[0].message;
      const calls = tool_calls ?? [];
      return { text: content ?? "", calls, kept: [{ role: "assistant", content, ...(calls.length ? { tool_calls: calls } : {}) }] };
    },
  };
}

function responses(options) {
  const client = openai(options);
  return {
    said: (text) => ({ role: "user", content: text }),
    result: (call, text) => ({ type: "function_call_output", call_id: call.call_id, output: text }),
    async ask(input) {
      const tools = [{ type: "function", ...tool, parameters: schema, strict: false }];
      const wanted = { model: "scripted", instructions: system, input, tools, store: false };
      const answer = await (options.streamed ? client.responses.stream(wanted).finalResponse() : client.responses.create(wanted));
      const calls = answer.output.filter(({ type }) => type === "function_call");
      return { text: answer.output_text, calls, kept: answer.output.map(({ parsed_arguments, ...item }) => item) };
    },
  };
}

function gemini({ url, session, streamed }) {
  const { GoogleGenAI } = require("@google/genai");
  const client = new GoogleGenAI({ apiKey: "test", vertexai: false, httpOptions: { baseUrl: url, headers: named(session) } });
  return {
    said: (text) => ({ role: "user", parts: [{ text }] }),
    result: ({ name }, output) => ({ role: "user", parts: [{ functionResponse: { name, response: { output } } }] }),
    async ask(contents) {
      const tools = [{ functionDeclarations: [{ ...tool, parametersJsonSchema: schema }] }];
      const wanted = { model: "scripted", contents, config: { systemInstruction: system, tools } };
      const answers = [];
      if (streamed) for await (const answer of await client.models.generateContentStream(wanted)) answers.push(answer);
      else answers.push(await client.models.generateContent(wanted));
      const parts = answers.flatMap((answer) => answer.candidates[0].content.parts ?? []);
      const calls = parts.filter(({ functionCall }) => functionCall).map(({ functionCall }) => functionCall);
      return { text: parts.map(({ text }) => text ?? "").join(""), calls, kept: [{ role: "model", parts }] };
    },
  };
}

const kinds = { anthropic, chat, responses, gemini };
const conversations = {};

async function step({ on, say, result, call }) {
  const conversation = conversations[on];
  const message = say === undefined ? conversation.result(conversation.calls[call], result) : conversation.said(say);
  const asked = [...(conversation.history ?? conversation.opening ?? []), message];
  try {
    const { text, calls, kept } = await conversation.ask(asked);
    conversation.history = [...asked, ...kept];
    conversation.calls = calls;
    return { text, calls: calls.length };
  } catch (error) {
    const { status, message, type, error: body } = error;
    return { error: { name: error.constructor.name, status, message, type: type ?? body?.error?.type } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { on, open, ...rest } = JSON.parse(line);
  if (open) conversations[on] = kinds[open.kind](open);
  else console.log(JSON.stringify(await step({ on, ...rest })));
}
