-- The counters of a call, for scripts that evaluate them. It takes the libraries, and KEYS, in which each counter occurs once, and the
-- time in ms, empty for the server's own. A server that knows functions keeps all that is defined here between
-- calls: what belongs to one call is set by `begin`.

local NEVER = -1 / 0
local NO_PERMIT = '\0\0\0\0\0\0\0\0'

--- @include "windows"
--- @include "buckets"
--- @include "logs"
--- @include "quick"

-- How the states of counters that are no logs are read: the state's numbers, and when it expires where that is known. What cannot be a
-- state is as if nothing were stored: the caller has a fresh budget, and the next charge writes a whole state in its place. So is what
-- redis.pcall answers about a key of another type. struct.unpack ends its results with the next position, which is not part of a state.
local function read_sliding(raw, L)
  if #raw ~= 16 then return NEVER, 0, 0 end
  local start, one, two = struct.unpack('<dI4I4', raw)
  -- Neither infinite nor no number at all.
  if start - start ~= 0 then return NEVER, 0, 0 end
  if two > 0 then return start, one, two, start + 2 * L.window end
  return start, one, two
end

local function read_fixed(raw, L)
  if #raw ~= 12 then return NEVER, 0, 0 end
  local start, count = struct.unpack('<dI4', raw)
  if start - start ~= 0 then return NEVER, 0, 0 end
  if count > 0 then return start, count, 0, end_of(start, L) end
  return start, count, 0
end

local function read_tokens(raw)
  if #raw ~= 16 then return NEVER, 0, 0 end
  local at, missing = struct.unpack('<dd', raw)
  -- At most twice the largest burst is missing.
  if at - at ~= 0 or not (missing >= 0 and missing <= 2 * MAX_COUNT) then return NEVER, 0, 0 end
  return at, missing, 0
end

local function read_moment(raw)
  if #raw ~= 8 then return NEVER, 0, 0 end
  local at = struct.unpack('<d', raw)
  if at - at ~= 0 then return NEVER, 0, 0 end
  return at, 0, 0
end

local function read_number(raw, L)
  local start, one, two = read_window(raw, L)
  if start - start ~= 0 then return NEVER, 0, 0 end
  if L.run == sliding_window then return start, one, two, two > 0 and start + 2 * L.window or nil end
  return start, one, 0, one > 0 and end_of(start, L) or nil
end

local NUMBERS = {
  s = { sliding_window, '<dI4I4', read_sliding },
  t = { token_bucket, '<dd', read_tokens },
  g = { gcra, '<d', read_moment },
  l = { leaky_bucket, '<d', read_moment },
  f = { fixed_window, '<dI4', read_fixed },
  a = { fixed_window, '<dI4', read_fixed },
}
-- The windows whose state is a whole number, see windows: the same, with a capital.
local SMALL = { S = 's', F = 'f', A = 'a' }

local function is_finite(x) return x == x and x > -math.huge and x < math.huge end

local function copy_of(L)
  local copy = {}
  for name, value in pairs(L) do copy[name] = value end
  return copy
end

local function parse_limit(text)
  local words = {}
  for word in string.gmatch(text, '%S+') do words[#words + 1] = word end
  local number = function(i) return tonumber(words[i]) end
  local L = {
    limit = number(2), window = number(3), capacity = number(4), per_ms = number(5), per_hit = number(6),
    quantum = number(7), count_denied = words[8] == '1', most = MAX_COUNT,
  }
  local letter = SMALL[words[1]] or words[1]
  L.full = L.capacity * L.per_hit
  L.holders = letter == 'c'
  L.anchored = letter == 'a'
  L.is_log = L.holders or letter == 'x'
  L.is_numbered = letter ~= words[1]
  if not L.is_log then
    L.run, L.format, L.read = NUMBERS[letter][1], NUMBERS[letter][2], NUMBERS[letter][3]
    if L.is_numbered then L.read = read_number end
  end
  if words[9] then
    L.edges = {}
    for i = 9, #words do L.edges[i - 8] = number(i) end
  end
  L.quick = quick_of and quick_of(L)
  return L
end

-- limit_of: the limit that a text encodes. A function keeps it for the next call.
local MAX_LIMITS = 1000
local limits_by_text, limit_count = {}, 0
local function limit_of(text)
  local L = limits_by_text[text]
  if L then return L end
  if limit_count == MAX_LIMITS then limits_by_text, limit_count = {}, 0 end
  L = parse_limit(text)
  limits_by_text[text] = L
  limit_count = limit_count + 1
  return L
end

-- A time that was handed in (by a test) does not pass as the server's does, so keys must not expire by the server's.
local grace

-- The counters, by their number in KEYS. All are read in one call, taken apart when first needed, and written once at
-- the end: numbers in at, first, second; logs in records and hits. expires is set for counters that changed.
local raws, owner, at, first, second, records, hits, expires = {}, {}, {}, {}, {}, {}, {}, {}
-- When a window that has hits expires, as it is stored.
local stored_until = {}
-- What a quick way found, of counters that are not taken apart. Of a bucket expires is set as well, of a window it stays.
local found = {}

-- read_clock: the time of the server. To read a number of ten digits costs more than to see that it is that of the call before.
local second_text, second_ms
local function read_clock()
  local time = call('TIME')
  local text = time[1]
  if text ~= second_text then second_text, second_ms = text, text * 1000 end
  local ms = second_ms + time[2] / 1000
  now, grace = ms - ms % 1, 0
end

-- read_time: the time of a call, which a test may pass.
local function read_time(given)
  if given == '' then read_clock() else now, grace = tonumber(given), 600000 end
end

-- begin: a call about a number of counters. Making tables is a large part of what a small call costs, so it reuses the
-- tables of the previous call, as far as that was small as well. What they hold of other keys is not looked at. Returns
-- whether all tables are new.
local SMALL = 16
local size = 0
-- How long counters live, as texts, by when they expire: formatting a number is a large part of what a write costs, and
-- the counters of one window expire together.
local ttls
local function begin(count, given)
  read_time(given)
  local is_fresh = count > SMALL or size > SMALL
  if is_fresh then
    raws, owner, at, first, second, records, hits, expires, stored_until, found = {}, {}, {}, {}, {}, {}, {}, {}, {}, {}
  else
    for k = 1, count do owner[k], expires[k], stored_until[k], found[k] = nil, nil, nil, nil end
  end
  size, ttls = count, count > SMALL and {} or nil
  return is_fresh
end

-- read: the states of the first `count` keys. What is of another type is as if nothing were stored.
local function read(count)
  if count <= SMALL then
    local part = redis.call('MGET', unpack(KEYS, 1, count))
    for k = 1, count do raws[k] = part[k] end
    return
  end
  for i = 1, count, 1000 do
    local part = redis.call('MGET', unpack(KEYS, i, math.min(i + 999, count)))
    for j = 1, #part do raws[i + j - 1] = part[j] end
  end
end

local function numbers_of(raw, L)
  if not raw then return NEVER, 0, 0 end
  return L.read(raw, L)
end

-- open: takes a counter's state apart.
local function open(k, L)
  owner[k] = L
  local raw, state = raws[k], found[k]
  if state then
    found[k] = nil
    if not expires[k] then state = string.sub(raw, 1, -5) .. state end
    at[k], first[k], second[k], stored_until[k] = L.read(state, L)
    expires[k] = expires[k] or stored_until[k]
    return
  end
  if not L.is_log then
    at[k], first[k], second[k], stored_until[k] = numbers_of(raw, L)
    return
  end
  hits[k], records[k] = 0, ''
  if raw and #raw % RECORD == 4 then
    local total, count = struct.unpack('<I4', raw), (#raw - 4) / RECORD
    if total == count or (total > count and count > 0 and not L.holders) then
      hits[k], records[k] = total, string.sub(raw, 5)
    end
  end
end

-- evaluate: code, remaining, resetAfterMs, waitMs, expiresAtMs, the next state (three values) of a counter at a time, and what
-- of the cost was dropped; nothing is kept.
local function evaluate(k, L, time, cost, permit)
  if L.is_log then return sound_log(records[k], hits[k], L, time, cost, permit) end
  return L.run(at[k], first[k], second[k], L, time, cost)
end

-- is_kept: a refusal that is not charged costs no write, unless it found the state in need of one: a window that has
-- moved on, a bucket that was refilled, a clock that went back. What is worth nothing is removed if it was ever stored.
local function is_kept(k, L, code, expires_at, a, b, c)
  if expires_at <= now then return raws[k] or expires[k] end
  if code == 0 or L.count_denied then return true end
  if L.is_log then return a ~= records[k] end
  return a ~= at[k] or b ~= first[k] or c ~= second[k]
end

local function keep(k, L, expires_at, a, b, c)
  expires[k] = expires_at
  if L.is_log then
    records[k], hits[k] = a, b
  else
    at[k], first[k], second[k] = a, b, c
  end
end

-- overwrite: another state in place of one of the same size, which keeps its expiry. SETRANGE costs less; SET is used
-- for a user whom an ACL allows only SET.
local may_overwrite = true
local function overwrite(key, raw)
  if may_overwrite and type(pcall('SETRANGE', key, '0', raw)) == 'number' then return end
  call('SET', key, raw, 'KEEPTTL')
  may_overwrite = false
end

-- write_quick: what a quick way found about a counter. Where most writes are, SETRANGE is tried first, without a call of this.
local TAIL_AT = { [12] = '8', [16] = '12' }
local function write_quick(key, raw, state, life)
  if life then
    call('PSETEX', key, string.format('%d', life + grace), state)
  elseif not may_overwrite or pcall('SETRANGE', key, TAIL_AT[#raw], state) ~= #raw then
    overwrite(key, string.sub(raw, 1, -5) .. state)
  end
end

-- write: the state of a counter. A window that has hits is stored until it expires; further hits do not move that, and to leave
-- the server's expiry as it is saves a third of the cost of a write.
local function write(L, key, raw, expires_at, stored)
  if stored == expires_at then
    -- A number is kept as one only by SET.
    if L.is_numbered then call('SET', key, raw, 'KEEPTTL') else overwrite(key, raw) end
    return
  end
  local ttl = ttls and ttls[expires_at]
  if not ttl then
    ttl = string.format('%d', expires_at - now + grace)
    if ttls then ttls[expires_at] = ttl end
  end
  call('PSETEX', key, ttl, raw)
end

local function format_numbers(L, start, one, two)
  if L.is_numbered then return format_window(start, one, two, L) end
  return pack(L.format, start, one, two)
end

-- write_all: writes what has changed of the counters from one to another.
local function write_all(from, to)
  for k = from, to do
    local expires_at, state = expires[k], found[k]
    if state then
      local raw = raws[k]
      if expires_at or not may_overwrite or pcall('SETRANGE', KEYS[k], TAIL_AT[#raw], state) ~= #raw then
        write_quick(KEYS[k], raw, state, expires_at and expires_at - now)
      end
    elseif expires_at then
      local L = owner[k]
      if expires_at <= now then
        call('DEL', KEYS[k])
      elseif L.is_log then
        write(L, KEYS[k], pack('<I4', hits[k]) .. records[k], expires_at)
      elseif L.is_numbered or not may_overwrite or stored_until[k] ~= expires_at then
        write(L, KEYS[k], format_numbers(L, at[k], first[k], second[k]), expires_at, stored_until[k])
      else
        overwrite(KEYS[k], pack(L.format, at[k], first[k], second[k]))
      end
    end
  end
end
