/** What Redis does with keepalives atomically: no command of another client runs during a script. */
import { redisScript } from './redis-link.ts';

const KEPT_AS_SENT = 1;
export const WAITING = 2;
export const GONE = 3;
/** Instead of the answers: the script ran too late. */
export const LATE = 'late';

/**
 * KEYS: states. ARGV: time to live, the latest time in milliseconds or nothing, then for each its version or nothing, how many
 * of the next belong to it, and names and values of its metrics. Returns the time, and for each one of the numbers above or
 * the known version. After the latest time it changes nothing: a keepalive that waited in a socket while Redis or the network
 * hung was answered as failed long ago, and must not overwrite a newer one. A key that another client gave another type
 * counts as no entry, and must not fail the others.
 */
export const KEEP = redisScript(`
local now = redis.call('TIME')
local ttl = ARGV[1]
local latest = tonumber(ARGV[2])
if latest and tonumber(now[1]) * 1000 + tonumber(now[2]) / 1000 > latest then return { now[1], now[2], '${LATE}' } end
local function keep(key, version, from, count)
  local known = redis.call('HMGET', key, 'status', 'agent_version')
  if known[1] == 'registered' then return ${WAITING} end
  if known[1] ~= 'ready' then return ${GONE} end
  if count > 0 then redis.call('HSET', key .. ':metrics', unpack(ARGV, from, from + count - 1)) end
  redis.call('EXPIRE', key .. ':metrics', ttl)
  if version == '' then redis.call('HSET', key, 'last_keepalive', now[1])
  else redis.call('HSET', key, 'last_keepalive', now[1], 'agent_version', version) end
  redis.call('EXPIRE', key, ttl)
  return version == '' and known[2] or ${KEPT_AS_SENT}
end
local answers = { now[1], now[2] }
local at = 3
for i, key in ipairs(KEYS) do
  local count = tonumber(ARGV[at + 1])
  local fine, answer = pcall(keep, key, ARGV[at], at + 2, count)
  if not fine then
    local message = type(answer) == 'table' and answer.err or tostring(answer)
    if not string.find(message, 'WRONGTYPE', 1, true) then return redis.error_reply(message) end
    answer = ${GONE}
  end
  answers[i + 2] = answer
  at = at + 2 + count
end
return answers`);

/**
 * KEYS: for each entry its state and its index. ARGV: for each its id, its time to live, '1' when this is a keepalive, the
 * number of names and values of its state and those, and the same for its metrics. A key that another client gave another
 * type is replaced.
 */
export const PUT = redisScript(`
local now = redis.call('TIME')[1]
local at = 1
local function hash(key, ttl)
  local count = tonumber(ARGV[at])
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'hash' and kind ~= 'none' then redis.call('DEL', key) end
  if count > 0 then redis.call('HSET', key, unpack(ARGV, at + 1, at + count)) end
  redis.call('EXPIRE', key, ttl)
  at = at + 1 + count
end
for i = 1, #KEYS, 2 do
  local key, id, ttl, kept = KEYS[i], ARGV[at], ARGV[at + 1], ARGV[at + 2] == '1'
  at = at + 3
  hash(key, ttl)
  if kept then redis.call('HSET', key, 'last_keepalive', now) end
  hash(key .. ':metrics', ttl)
  redis.call('SADD', KEYS[i + 1], id)
end
return redis.status_reply('OK')`);

/** KEYS: locks. ARGV: the value with which all of them were taken. */
export const UNLOCK = redisScript(`
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end
end
return redis.status_reply('OK')`);

/**
 * KEYS: an index, and the states of some of its members. ARGV: how many metrics there are, their names, and those
 * members. Returns, for those that are ready, their position, from 1, and their metrics.
 */
export const METRICS_OF = redisScript(`
local count = tonumber(ARGV[1])
local answers = {}
for i = 2, #KEYS do
  local status = redis.pcall('HGET', KEYS[i], 'status')
  if status == 'ready' then
    answers[#answers + 1] = { i - 1, redis.call('HMGET', KEYS[i] .. ':metrics', unpack(ARGV, 2, count + 1)) }
  elseif not status and redis.call('EXISTS', KEYS[i]) == 0 then
    redis.call('SREM', KEYS[1], ARGV[count + i])
  end
end
return answers`);

/** KEYS: states. ARGV: names of metrics. Returns for each its remaining time to live, and its data if it has any. */
export const READ = redisScript(`
local function read(key)
  local left = redis.call('PTTL', key)
  if left == -2 then return { left } end
  return {
    left,
    redis.call('HMGET', key, 'agent_version', 'last_keepalive'),
    redis.call('HMGET', key .. ':metrics', unpack(ARGV)),
  }
end
local answers = {}
for i, key in ipairs(KEYS) do
  local fine, answer = pcall(read, key)
  answers[i] = fine and answer or { -2 }
end
return answers`);
