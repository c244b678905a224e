//! What happens on the server in one step.
//!
//! ```text
//! {hookgate}:data         hash: every key with its value
//! {hookgate}:index        sorted set: every key, in the order of its bytes
//! {hookgate}:feed         stream: keys of mailboxes and knowledge that changed
//! {hookgate}:lease:NAME   PROCESS/HOLDER
//! {hookgate}:life:PROCESS a heartbeat
//! ```
//! The braces put all of it in one slot of a cluster: what belongs together is changed together.
use redis::Script;

pub(super) const DATA: &[u8] = b"{hookgate}:data";
pub(super) const INDEX: &[u8] = b"{hookgate}:index";
pub(super) const FEED: &[u8] = b"{hookgate}:feed";
pub(super) const LEASE: &str = "{hookgate}:lease:";
pub(super) const LIFE: &str = "{hookgate}:life:";

/// ARGV: guarded (0, 1), key, whether it is expected to be there (0, 1), its value; then for each change its key, whether
/// it is set (0, 1), its value.
const WRITE: &str = r"
if ARGV[1] == '1' then
  local held = redis.call('HGET', KEYS[1], ARGV[2])
  if ARGV[3] == '1' then
    if held ~= ARGV[4] then return 0 end
  elseif held then return 0 end
end
for i = 5, #ARGV, 3 do
  local key = ARGV[i]
  if ARGV[i + 1] == '1' then
    if redis.call('HSET', KEYS[1], key, ARGV[i + 2]) == 1 then redis.call('ZADD', KEYS[2], 0, key) end
  elseif redis.call('HDEL', KEYS[1], key) == 1 then redis.call('ZREM', KEYS[2], key) end
  local space = string.sub(key, 1, 4)
  if space == '1/b/' or space == '1/k/' then redis.call('XADD', KEYS[3], 'MAXLEN', '~', '16384', '*', 'k', key) end
end
return 1
";

/// ARGV: from, to (as ZRANGEBYLEX wants them), how many.
const SCAN: &str = r"
local keys = redis.call('ZRANGEBYLEX', KEYS[2], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local out = {}
for i, key in ipairs(keys) do
  out[2 * i - 1] = key
  out[2 * i] = redis.call('HGET', KEYS[1], key) or ''
end
return out
";

/// KEYS: the lease, the name of heartbeats; ARGV: process, holder, milliseconds after which a forgotten one is gone.
const ACQUIRE: &str = r"
local held = redis.call('GET', KEYS[1])
if held then
  local owner = string.match(held, '^[^/]*')
  if redis.call('EXISTS', KEYS[2] .. owner) == 1 then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1] .. '/' .. ARGV[2], 'PX', ARGV[3])
return 1
";

/// KEYS: the lease; ARGV: process and holder.
const RELEASE: &str = r"
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
";

/// All of them.
pub(super) struct Scripts {
    pub(super) write: Script,
    pub(super) scan: Script,
    pub(super) acquire: Script,
    pub(super) release: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            write: Script::new(WRITE),
            scan: Script::new(SCAN),
            acquire: Script::new(ACQUIRE),
            release: Script::new(RELEASE),
        }
    }
}
