"""A scripted provider that speaks all four dialects, streamed and not. Standard library only.

What it answers is said by a script: a function from the request to an Answer.
"""
import dataclasses
import json
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclasses.dataclass
class Answer:
    """What the model does: it says something, or calls a tool, or is cut off after its first words, or is overloaded."""
    text: str = ""
    call: tuple[str, dict] | None = None
    cut: bool = False
    status: int = 200


@dataclasses.dataclass
class Request:
    """What the provider received."""
    path: str
    headers: dict
    body: dict

    @property
    def dialect(self):
        path = self.path.split("?")[0]
        ends = {"/messages": "anthropic", "/chat/completions": "chat", "/responses": "responses"}
        named = next((dialect for end, dialect in ends.items() if path.endswith(end)), None)
        return named or ("gemini" if ":generateContent" in path or ":streamGenerateContent" in path else None)

    @property
    def streamed(self):
        return self.body.get("stream") is True or ":streamGenerateContent" in self.path

    @property
    def history(self):
        return self.body.get("messages") or self.body.get("input") or self.body.get("contents") or []

    @property
    def tools(self):
        """The names of the tools, those in a namespace as NAMESPACE.NAME."""
        return [name for tool in self.body.get("tools") or [] for name in tool_names(tool)]

    @property
    def text(self):
        """Everything that the model would see, as one text."""
        return json.dumps(self.body, ensure_ascii=False)


def tool_names(tool):
    inner = tool.get("functionDeclarations") or tool.get("tools")
    if inner:
        space = f"{tool['name']}." if "name" in tool else ""
        return [space + name for part in inner for name in tool_names(part)]
    return [tool.get("function", tool).get("name") or tool.get("type", "")]


class Provider:
    """Serves on a free loopback port until it is closed."""

    def __init__(self, script, port=0):
        self.script, self.requests = script, []
        self.server = ThreadingHTTPServer(("127.0.0.1", port), handler(self))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()


def handler(provider):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self):
            self.send("application/json", b"")

        def do_GET(self):
            self.send("application/json", b'{"data":[],"models":[]}')

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            request = Request(self.path, dict(self.headers), body)
            if request.dialect is None:
                return self.send("application/json", b'{"input_tokens":11,"totalTokens":11}')
            provider.requests.append(request)
            number = len(provider.requests)
            try:
                answer = provider.script(request)
            except Exception:  # a script's fault is to be seen: the client would only try again
                traceback.print_exc()
                answer = Answer(status=500)
            if answer.status != 200:
                error = {"type": "overloaded_error", "code": answer.status, "message": "Overloaded", "status": "UNAVAILABLE"}
                return self.send("application/json", json.dumps({"type": "error", "error": error}).encode(), answer.status)
            if not request.streamed:
                whole = WRITERS[request.dialect][0](answer, number)
                return self.send("application/json", json.dumps(whole).encode())
            self.stream(request.dialect, answer, number)

        def send(self, content_type, body, status=200):
            self.send_response(status)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def stream(self, dialect, answer, number):
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            events = WRITERS[dialect][1](answer, number)
            for event in events[: len(events) // 2] if answer.cut else events:
                data = event.encode()
                self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
                self.wfile.flush()
            if answer.cut:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_):
            pass

    return Handler


def named(event):
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def data(event):
    return f"data: {json.dumps(event)}\n\n"


def pieces(text):
    return [text[at : at + 7] for at in range(0, len(text), 7)]


# Anthropic Messages

def anthropic(answer, number):
    if answer.call:
        name, arguments = answer.call
        content = [{"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}]
    else:
        content = [{"type": "text", "text": answer.text}]
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "scripted", "content": content,
        "stop_reason": "tool_use" if answer.call else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def anthropic_events(answer, number):
    whole = anthropic(answer, number)
    (block,) = whole["content"]
    if answer.call:
        start, deltas = {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    else:
        start, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": t} for t in pieces(block["text"])]
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return [named(event) for event in events]


# OpenAI Chat Completions

def chat(answer, number):
    message = {"role": "assistant", "content": None if answer.call else answer.text}
    if answer.call:
        name, arguments = answer.call
        function = {"name": name, "arguments": json.dumps(arguments)}
        message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": function}]
    finish = "tool_calls" if answer.call else "stop"
    return {
        "id": f"chatcmpl-{number}", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def chat_events(answer, number):
    whole = chat(answer, number)
    (choice,) = whole["choices"]

    def chunk(delta, finish=None):
        choices = [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
        return {**whole, "object": "chat.completion.chunk", "choices": choices, "usage": None}

    calls = [{"index": index, **call} for index, call in enumerate(choice["message"].get("tool_calls", []))]
    deltas = [{"tool_calls": calls}] if calls else [{"content": text} for text in pieces(answer.text)]
    chunks = [chunk({"role": "assistant", "content": None if calls else ""}), *map(chunk, deltas)]
    return [data(event) for event in [*chunks, chunk({}, choice["finish_reason"])]] + ["data: [DONE]\n\n"]


# OpenAI Responses

def responses(answer, number, status="completed"):
    if answer.call:
        name, arguments = answer.call
        item = {
            "id": f"fc_{number}", "type": "function_call", "call_id": f"call_{number}", "name": name,
            "arguments": json.dumps(arguments), "status": "completed",
        }
        if "." in name:
            item["namespace"], item["name"] = name.split(".")
    else:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    usage = {
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
    }
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 0, "model": "scripted", "status": status,
        "output": [item] if status == "completed" else [], "parallel_tool_calls": True, "tool_choice": "auto",
        "tools": [], "usage": usage if status == "completed" else None,
    }


def responses_events(answer, number):
    (item,) = responses(answer, number)["output"]
    at = {"item_id": item["id"], "output_index": 0}
    if answer.call:
        added = {**item, "arguments": "", "status": "in_progress"}
        middle = [
            {"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]},
            {"type": "response.function_call_arguments.done", **at, "arguments": item["arguments"], "name": item["name"]},
        ]
    else:
        added = {**item, "content": [], "status": "in_progress"}
        (part,) = item["content"]
        at["content_index"] = 0
        middle = [
            {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
            *({"type": "response.output_text.delta", **at, "delta": t, "logprobs": []} for t in pieces(answer.text)),
            {"type": "response.output_text.done", **at, "text": answer.text, "logprobs": []},
            {"type": "response.content_part.done", **at, "part": part},
        ]
    started = responses(answer, number, "in_progress")
    events = [
        {"type": "response.created", "response": started},
        {"type": "response.in_progress", "response": started},
        {"type": "response.output_item.added", "output_index": 0, "item": added},
        *middle,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": responses(answer, number)},
    ]
    return [named({**event, "sequence_number": number}) for number, event in enumerate(events)]


# Gemini

def gemini_chunk(parts, number, finish=None):
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
    return {
        "candidates": [candidate | ({"finishReason": finish} if finish else {})],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "scripted", "responseId": f"resp-{number}",
    }


def gemini(answer, number):
    if answer.call:
        name, arguments = answer.call
        return gemini_chunk([{"functionCall": {"name": name, "args": arguments}}], number, "STOP")
    return gemini_chunk([{"text": answer.text}], number, "STOP")


def gemini_events(answer, number):
    if answer.call:
        return [data(gemini(answer, number))]
    *texts, last = pieces(answer.text)
    chunks = [gemini_chunk([{"text": text}], number) for text in texts]
    return [data(event) for event in [*chunks, gemini_chunk([{"text": last}], number, "STOP")]]


WRITERS = {
    "anthropic": (anthropic, anthropic_events),
    "chat": (chat, chat_events),
    "responses": (responses, responses_events),
    "gemini": (gemini, gemini_events),
}
