"""One conversation per SDK: the same few steps, in the words of each. Every step returns (text, calls)."""
import anthropic
import openai
from google import genai
from google.genai import types

SYSTEM = "You are the client's own instruction."
TOOL = "run_tests"
DESCRIPTION = "Runs the test suite"
SCHEMA = {"type": "object", "properties": {"suite": {"type": "string"}}, "required": ["suite"]}
RESULT = "41 passed, 1 failed"


class Anthropic:
    Refused, Failed, Cut = anthropic.BadRequestError, anthropic.InternalServerError, anthropic.APIStatusError
    error_type = staticmethod(lambda error: error.body["error"]["type"])
    upstream = "anthropic"

    def __init__(self, url, session, streamed):
        headers = {"x-hookgate-session": session}
        self.client = anthropic.Anthropic(base_url=url, api_key="sk-test", max_retries=0, default_headers=headers)
        self.streamed, self.history = streamed, []

    def say(self, text):
        return self.ask({"role": "user", "content": text})

    def answer_call(self, call):
        result = {"type": "tool_result", "tool_use_id": call.id, "content": RESULT}
        return self.ask({"role": "user", "content": [result]})

    def ask(self, message):
        tools = [{"name": TOOL, "description": DESCRIPTION, "input_schema": SCHEMA}]
        history = [*self.history, message]
        wanted = dict(model="scripted", max_tokens=100, system=SYSTEM, tools=tools, messages=history)
        if self.streamed:
            with self.client.messages.stream(**wanted) as stream:
                answer = stream.get_final_message()
        else:
            answer = self.client.messages.create(**wanted)
        self.history = [*history, {"role": "assistant", "content": answer.content}]
        texts = [block.text for block in answer.content if block.type == "text"]
        return "".join(texts), [block for block in answer.content if block.type == "tool_use"]


class OpenAi:
    Refused, Failed, Cut = openai.BadRequestError, openai.InternalServerError, openai.APIError
    error_type = staticmethod(lambda error: error.type)
    upstream = "openai"

    def __init__(self, url, session, streamed):
        headers = {"x-hookgate-session": session}
        self.client = openai.OpenAI(base_url=url + "/v1", api_key="sk-test", max_retries=0, default_headers=headers)
        self.streamed, self.history = streamed, self.opening()

    def opening(self):
        return []


class Chat(OpenAi):
    def opening(self):
        return [{"role": "system", "content": SYSTEM}]

    def say(self, text):
        return self.ask({"role": "user", "content": text})

    def answer_call(self, call):
        return self.ask({"role": "tool", "tool_call_id": call.id, "content": RESULT})

    def ask(self, message):
        tools = [{"type": "function", "function": {"name": TOOL, "description": DESCRIPTION, "parameters": SCHEMA}}]
        history = [*self.history, message]
        wanted = dict(model="scripted", messages=history, tools=tools)
        if self.streamed:
            with self.client.chat.completions.stream(**wanted) as stream:
                answer = stream.get_final_completion().choices[0].message
        else:
            answer = self.client.chat.completions.create(**wanted).choices[0].message
        self.history = [*history, answer.model_dump(exclude_none=True, exclude={"parsed"})]
        return answer.content or "", answer.tool_calls or []


class Responses(OpenAi):
    def say(self, text):
        return self.ask({"role": "user", "content": text})

    def answer_call(self, call):
        return self.ask({"type": "function_call_output", "call_id": call.call_id, "output": RESULT})

    def ask(self, item):
        tools = [{"type": "function", "name": TOOL, "description": DESCRIPTION, "parameters": SCHEMA, "strict": False}]
        history = [*self.history, item]
        wanted = dict(model="scripted", instructions=SYSTEM, input=history, tools=tools, store=False)
        if self.streamed:
            with self.client.responses.stream(**wanted) as stream:
                answer = stream.get_final_response()
        else:
            answer = self.client.responses.create(**wanted)
        kept = {"id", "type", "role", "status", "content", "call_id", "name", "arguments"}
        self.history = [*history, *(item.model_dump(exclude_none=True, include=kept) for item in answer.output)]
        return answer.output_text, [item for item in answer.output if item.type == "function_call"]


class Gemini:
    Refused, Failed, Cut = genai.errors.ClientError, genai.errors.ServerError, genai.errors.APIError
    error_type = staticmethod(lambda error: error.status)
    upstream = "gemini"

    def __init__(self, url, session, streamed):
        options = types.HttpOptions(base_url=url, headers={"x-hookgate-session": session})
        self.client = genai.Client(api_key="test", vertexai=False, http_options=options)
        self.streamed, self.history = streamed, []

    def say(self, text):
        return self.ask(types.Content(role="user", parts=[types.Part(text=text)]))

    def answer_call(self, call):
        part = types.Part.from_function_response(name=call.name, response={"output": RESULT})
        return self.ask(types.Content(role="user", parts=[part]))

    def ask(self, content):
        declaration = types.FunctionDeclaration(name=TOOL, description=DESCRIPTION, parameters_json_schema=SCHEMA)
        config = types.GenerateContentConfig(
            system_instruction=SYSTEM,
            tools=[types.Tool(function_declarations=[declaration])],
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        history = [*self.history, content]
        wanted = dict(model="scripted", contents=history, config=config)
        if self.streamed:
            answers = list(self.client.models.generate_content_stream(**wanted))
        else:
            answers = [self.client.models.generate_content(**wanted)]
        parts = [part for answer in answers for part in answer.candidates[0].content.parts or []]
        self.history = [*history, types.Content(role="model", parts=parts)]
        return "".join(p.text or "" for p in parts), [p.function_call for p in parts if p.function_call]


ALL = {"anthropic": Anthropic, "chat": Chat, "responses": Responses, "gemini": Gemini}
