// Written by scripts/lua.mjs from the files in lua/, without their comments and indentation.
export const LUA_TEXTS = {
  buckets: `local function round(x) return math.floor(x + 0.5) end
local function token_bucket(at, first, _, L, now, cost)
local full, per_hit, per_ms = L.full, L.per_hit, L.per_ms
local units = full
if at ~= NEVER then
units = math.max(full - round(first * per_hit), -full)
if now > at then units = math.min(units + (now - at) * per_ms, full) end
end
local price, asked = cost * per_hit, asked_by(cost)
local code, wait, dropped = 0, 0, 0
if price < 0 or (asked <= L.capacity and asked * per_hit <= units) then
units = math.min(units - price, full)
else
if L.count_denied then
local owed = units - price
units = math.max(owed, -full)
dropped = math.ceil((units - owed) / per_hit)
end
if asked > L.capacity then code = 2 else code, wait = 1, math.ceil((asked * per_hit - units) / per_ms) end
end
local remaining, reset = 0, 0
if units > 0 then remaining = math.floor(units / per_hit) end
if units < full then reset = math.ceil((full - units) / per_ms) end
local expires = now + reset
if code == 2 and units == full then reset = L.window end
return code, remaining, reset, wait, expires, now, (full - units) / per_hit, 0, dropped
end
local function time_of(at)
if at < 0 and at ~= NEVER then return -at, true end
return at, false
end
local function gcra(at, _, _, L, now, cost)
local full, per_hit, per_ms = L.full, L.per_hit, L.per_ms
local now_units = now * per_ms
local tat_ms, is_owing = time_of(at)
local deepest = full
if L.count_denied or is_owing then deepest = 2 * full end
local used = 0
local tat = round(tat_ms * per_ms)
if tat > now_units then used = math.min(tat - now_units, deepest) end
local price, asked = cost * per_hit, asked_by(cost)
local code, wait, dropped = 0, 0, 0
if price < 0 or (asked <= L.capacity and used + asked * per_hit <= full) then
used = math.max(used + price, 0)
else
if L.count_denied then
local owed = used + price
used = math.min(owed, deepest)
dropped = math.ceil((owed - used) / per_hit)
end
if asked > L.capacity then code = 2 else code, wait = 1, math.ceil((used + asked * per_hit - full) / per_ms) end
end
local remaining, reset = 0, 0
if used < full then remaining = math.floor((full - used) / per_hit) end
if used > 0 then reset = math.ceil(used / per_ms) end
local expires, next_at = now + reset, (now_units + used) / per_ms
if code == 2 and used == 0 then reset = L.window end
if used > full then next_at = -next_at end
return code, remaining, reset, wait, expires, next_at, 0, 0, dropped
end
local function leaky_bucket(at, first, second, L, now, cost)
local code, remaining, reset, wait, expires, dry_at, _, _, dropped = gcra(at, first, second, L, now, cost)
local ahead = round(time_of(at) * L.per_ms) - now * L.per_ms
if code == 0 and cost > 0 and ahead > 0 then wait = math.ceil(ahead / L.per_ms) end
return code, remaining, reset, wait, expires, dry_at, 0, 0, dropped
end`,
  charges: `--- @include "counters"
--- @include "heads"
local limits, packed, reply, replies = {}, nil, {}, 0
local CHARGE, KEEP = 21, 4
local LENDABLE = 96
local function permit_at(position, flags)
if flags % 16 >= 8 then return string.sub(packed, position + 13, position + 20) end
end
local function lent_at(position, flags, k)
if flags < 32 then return 0 end
local head = k + 1
if flags < 64 then head = struct.unpack('<I2', packed, position + 13) end
local raw = raws[head]
if not raw then return 0 end
local out, _, next_end, touched = read_head(raw)
if out == 0 then return 0 end
if not out or next_end <= now or now < touched then return math.huge end
return out
end
local LENT = 3
local function with_lent(lent, k, L, cost, code, remaining, reset, wait)
if code ~= 0 and lent < math.huge then return code, math.max(remaining - lent, 0), reset, wait end
if cost + lent > L.capacity then return LENT, 0, reset, 1 end
local together, left, whole_reset, until_free = evaluate(k, L, now, cost + lent, nil)
if together ~= 0 or (cost == 0 and left == 0) then return LENT, 0, whole_reset, math.max(until_free, 1) end
return 0, left, whole_reset, 0
end
local function debit(k, L, cost)
local forced = L.debit
if not forced then
forced = copy_of(L)
forced.count_denied, forced.most = true, 2 * L.capacity
L.debit = forced
end
local _, remaining, reset, _, expires_at, a, b, c, dropped = evaluate(k, forced, now, cost, nil)
if is_kept(k, forced, 0, expires_at, a, b, c) then keep(k, L, expires_at, a, b, c) end
return remaining, reset, dropped
end
local function decide_numbers(k, L, cost, is_charged)
local raw = raws[k]
if not owner[k] then open(k, L) end
local start, one, two = at[k], first[k], second[k]
local code, remaining, reset, wait, expires_at, a, b, c = L.run(start, one, two, L, now, cost)
if is_charged then
local is_kept = code == 0 or L.count_denied or a ~= start or b ~= one or c ~= two
if expires_at <= now then is_kept = raw or expires[k] end
if is_kept then expires[k], at[k], first[k], second[k] = expires_at, a, b, c end
end
replies = replies + 1
reply[replies] = pack('<BI4dd', code, remaining, reset, wait)
end
local function decide_one(k, L, cost, flags, position)
if not owner[k] then open(k, L) end
replies = replies + 1
if flags % 32 >= 16 then
reply[replies] = pack('<BI4dd', 0, debit(k, L, cost))
return
end
local code, remaining, reset, wait, expires_at, a, b, c = evaluate(k, L, now, cost, permit_at(position, flags))
local lent = lent_at(position, flags, k)
if lent > 0 then code, remaining, reset, wait = with_lent(lent, k, L, cost, code, remaining, reset, wait) end
if flags % 8 >= 4 and code ~= LENT and is_kept(k, L, code, expires_at, a, b, c) then keep(k, L, expires_at, a, b, c) end
reply[replies] = pack('<BI4dd', code, remaining, reset, wait)
end
local charges, fitted, named, group = {}, {}, {}, 0
local function decide_group(count, position)
group = group + 1
local refused, quotas, quotas_refused = false, 0, 0
local is_simple = true
for i = 1, count do
local k, l, cost, flags = struct.unpack('<I2I2dB', packed, position)
local permit, lent = permit_at(position, flags), lent_at(position, flags, k)
position = position + CHARGE
local L = limits[l]
if not owner[k] then open(k, L) end
local asked = cost
if named[k] == group then
asked = cost + fitted[k]
is_simple = false
else
named[k], fitted[k] = group, 0
end
local code, remaining, reset, wait, expires_at, a, b, c = evaluate(k, L, now, asked, nil)
if lent > 0 then code, remaining, reset, wait = with_lent(lent, k, L, asked, code, remaining, reset, wait) end
if permit then is_simple = false end
if flags % 32 >= 16 then code = 0 elseif code == 0 then fitted[k] = asked end
local charge = charges[i]
if not charge then
charge = {}
charges[i] = charge
end
charge.k, charge.L, charge.cost, charge.asked, charge.flags = k, L, cost, asked, flags
charge.permit, charge.lent = permit, lent
charge.code, charge.remaining, charge.reset, charge.wait = code, remaining, reset, wait
charge.expires_at, charge.a, charge.b, charge.c = expires_at, a, b, c
if flags % 2 == 1 then
if flags % 4 >= 2 then
quotas = quotas + 1
if code ~= 0 then quotas_refused = quotas_refused + 1 end
elseif code ~= 0 then
refused = true
end
end
end
if quotas > 0 and quotas == quotas_refused then refused = true end
for i = 1, count do
local charge = charges[i]
local k, L = charge.k, charge.L
if refused and charge.code == 0 then
local _
_, charge.remaining, charge.reset = evaluate(k, L, now, charge.lent, nil)
charge.wait = 0
elseif charge.flags % 32 >= 16 then
charge.remaining, charge.reset, charge.wait = debit(k, L, charge.cost)
elseif charge.flags % 8 >= 4 and charge.code ~= LENT then
local expires_at, a, b, c = charge.expires_at, charge.a, charge.b, charge.c
if not is_simple then
local cost = charge.cost
if refused then cost = charge.asked end
local _
_, _, _, _, expires_at, a, b, c = evaluate(k, L, now, cost, charge.permit)
end
if is_kept(k, L, charge.code, expires_at, a, b, c) then keep(k, L, expires_at, a, b, c) end
end
replies = replies + 1
reply[replies] = pack('<BI4dd', charge.code, charge.remaining, charge.reset, charge.wait)
end
if count > SMALL then charges = {} end
return position
end
local PAIR = '<I2I2dBxxxxxxxxI2I2dB'
local function decide_pair(position)
local k, l, cost, flags, other_k, other_l, other_cost, other_flags = read_packed(PAIR, packed, position)
if flags >= LENDABLE and not raws[k + 1] then flags = flags - LENDABLE end
if other_flags >= LENDABLE and not raws[other_k + 1] then other_flags = other_flags - LENDABLE end
if flags < KEEP or flags >= 2 * KEEP or other_flags < KEEP or other_flags >= 2 * KEEP then return false end
if k == other_k or owner[k] or owner[other_k] or found[k] or found[other_k] then return false end
local raw, other_raw, quick, other_quick = raws[k], raws[other_k], limits[l].quick, limits[other_l].quick
if not (raw and other_raw and quick and other_quick and cost > 0 and other_cost > 0) then return false end
local reset, remaining, state, life = quick(raw, cost)
if not reset then return false end
local other_reset, other_remaining, other_state, other_life = other_quick(other_raw, other_cost)
if not other_reset then return false end
found[k], found[other_k] = state, other_state
if life then expires[k] = now + life end
if other_life then expires[other_k] = now + other_life end
replies = replies + 1
reply[replies] = pack('<BI4ddBI4dd', 0, remaining, reset, 0, 0, other_remaining, other_reset, 0)
return true
end
local function decide_next(position)
local count, k, l, cost, flags = read_packed('<I2I2I2dB', packed, position)
if count == 2 and decide_pair(position + 2) then return position + 2 + 2 * CHARGE end
if count > 1 then return decide_group(count, position + 2) end
if flags >= LENDABLE and not raws[k + 1] then flags = flags - LENDABLE end
local L, raw = limits[l], raws[k]
local quick = L.quick
if quick and raw and cost > 0 and flags >= KEEP and flags < 2 * KEEP and not (owner[k] or found[k]) then
local reset, remaining, state, life = quick(raw, cost)
if reset then
if life then expires[k] = now + life end
replies = replies + 1
found[k], reply[replies] = state, pack('<BI4dd', 0, remaining, reset, 0)
return position + 2 + CHARGE
end
end
if flags < 16 and not L.is_log then
decide_numbers(k, L, cost, flags % 8 >= 4)
else
decide_one(k, L, cost, flags, position + 2)
end
return position + 2 + CHARGE
end`,
  count: `local key = KEYS[1]
local window, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local doubles = ARGV[3] == 'double'
local hits = tonumber(ARGV[4])
local LONGEST = 9007199254740991
if hits == 0 then
local raw = redis.pcall('GET', key)
local count = type(raw) == 'string' and string.match(raw, '^%d+$') and math.min(tonumber(raw), LONGEST) or 0
return { count, math.max(redis.call('PTTL', key), 0) }
end
local count = redis.pcall('INCRBY', key, hits)
if type(count) ~= 'number' or (hits > 0 and count < hits) then
redis.call('DEL', key)
count = redis.call('INCRBY', key, hits)
end
local over = count - most
local left = redis.call('PTTL', key)
if left >= 0 and over <= 0 then return { count, left } end
if over > 0 and doubles then window = math.min(window * 2 ^ (over - 1), LONGEST) end
redis.call('PEXPIRE', key, string.format('%.0f', window))
return { count, window }`,
  counters: `local NEVER = -1 / 0
local NO_PERMIT = '\\0\\0\\0\\0\\0\\0\\0\\0'
--- @include "windows"
--- @include "buckets"
--- @include "logs"
--- @include "quick"
local function read_sliding(raw, L)
if #raw ~= 16 then return NEVER, 0, 0 end
local start, one, two = struct.unpack('<dI4I4', raw)
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
local grace
local raws, owner, at, first, second, records, hits, expires = {}, {}, {}, {}, {}, {}, {}, {}
local stored_until = {}
local found = {}
local second_text, second_ms
local function read_clock()
local time = call('TIME')
local text = time[1]
if text ~= second_text then second_text, second_ms = text, text * 1000 end
local ms = second_ms + time[2] / 1000
now, grace = ms - ms % 1, 0
end
local function read_time(given)
if given == '' then read_clock() else now, grace = tonumber(given), 600000 end
end
local SMALL = 16
local size = 0
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
local function evaluate(k, L, time, cost, permit)
if L.is_log then return sound_log(records[k], hits[k], L, time, cost, permit) end
return L.run(at[k], first[k], second[k], L, time, cost)
end
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
local may_overwrite = true
local function overwrite(key, raw)
if may_overwrite and type(pcall('SETRANGE', key, '0', raw)) == 'number' then return end
call('SET', key, raw, 'KEEPTTL')
may_overwrite = false
end
local TAIL_AT = { [12] = '8', [16] = '12' }
local function write_quick(key, raw, state, life)
if life then
call('PSETEX', key, string.format('%d', life + grace), state)
elseif not may_overwrite or pcall('SETRANGE', key, TAIL_AT[#raw], state) ~= #raw then
overwrite(key, string.sub(raw, 1, -5) .. state)
end
end
local function write(L, key, raw, expires_at, stored)
if stored == expires_at then
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
end`,
  'decide-node': `--- @include "libraries"
local function define()
--- @include "charges"
local function read_here(from, to)
for i = from, to, 1000 do
local part = redis.pcall('MGET', unpack(KEYS, i, math.min(i + 999, to)))
if part.err then return false end
for j = 1, #part do raws[i + j - 1] = part[j] end
end
return true
end
local function skipped(position, groups)
for _ = 1, groups do position = position + 2 + CHARGE * struct.unpack('<I2', packed, position) end
return position
end
local function main(_, args)
use_libraries()
KEYS = args
local sections, total = KEYS[#KEYS], 0
for at = 1, #sections, 4 do total = total + struct.unpack('<I2', sections, at) end
if begin(total, KEYS[total + 1]) then fitted, named = {}, {} end
local limit_total = tonumber(KEYS[total + 2])
for i = 1, limit_total do limits[i] = limit_of(KEYS[total + 2 + i]) end
packed, reply, replies = KEYS[total + 3 + limit_total], {}, 0
local places, from, position = {}, 1, 1
for at = 1, #sections, 4 do
local count, groups = struct.unpack('<I2I2', sections, at)
local to = from + count - 1
if read_here(from, to) then
places[#places + 1] = '\\1'
for _ = 1, groups do position = decide_next(position) end
write_all(from, to)
else
places[#places + 1] = '\\0'
position = skipped(position, groups)
end
from = to + 1
end
return table.concat(places) .. table.concat(reply)
end
return main
end
return define()(KEYS, ARGV)`,
  decide: `--- @include "libraries"
local function define()
--- @include "charges"
--- @include "plain"
local function main(keys, args)
local plan = plans[args[1]]
if plan then return plan.decide(plan, keys, args) end
if is_function then KEYS, ARGV = keys, args end
use_libraries()
plan = plan_of(args[1])
if plan then return plan.decide(plan, keys, args) end
local limit_total = tonumber(ARGV[2])
packed = ARGV[3 + limit_total]
for i = 1, limit_total do limits[i] = limit_of(ARGV[2 + i]) end
if begin(#KEYS, ARGV[1]) then fitted, named = {}, {} end
reply, replies = {}, 0
read(#KEYS)
local position, last = 1, #packed
while position <= last do position = decide_next(position) end
write_all(1, #KEYS)
return table.concat(reply)
end
return main
end
return define()(KEYS, ARGV)`,
  exchange: `--- @include "libraries"
local function define()
--- @include "counters"
--- @include "heads"
local limits, packed, counters, reply
local heads
local AHEAD_SHARE = 4
local HOLDER = '<dddd'
local function look(k, L, cost)
local _, remaining, reset, wait = evaluate(k, L, now, cost, nil)
return remaining, reset, wait
end
local function charge(k, L, cost, time)
if L.capacity == 0 then return end
local forced = L.forced
if not forced then
forced = copy_of(L)
forced.count_denied = true
L.forced = forced
end
local _, _, _, _, expires_at, a, b, c = evaluate(k, forced, time, cost, nil)
keep(k, L, expires_at, a, b, c)
end
local function horizon(L)
if L.per_ms > 0 then return math.ceil(L.full / L.per_ms) end
return 2 * L.window
end
local function read_holder(raw)
if not raw or #raw ~= 32 then return end
local sequence, spent, held, ends = struct.unpack(HOLDER, raw)
if is_finite(sequence) and is_finite(spent) and is_amount(held) and is_time(ends) then
return sequence, spent, held, ends
end
end
local function head_of(k)
local B = heads[k]
if B then return B end
B = { out = 0, holders = 0, next = math.huge, touched = NEVER, matters = 0 }
local out, holders, next_end, touched, matters = read_head(raws[counters + k])
if out then B.out, B.holders, B.next, B.touched, B.matters = out, holders, next_end, touched, matters end
B.is_known = out ~= nil
heads[k] = B
return B
end
local function write_heads()
for k, B in pairs(heads) do
local head = struct.pack(HEAD, B.out, B.holders, B.next, B.touched, B.matters)
redis.call('PSETEX', KEYS[counters + k], string.format('%.0f', B.matters - now + grace), head)
end
end
local function read_known(book, B, holder)
if B.is_known then
local known = redis.pcall('HGET', book, holder)
if not known or (type(known) == 'string' and read_holder(known)) then return known end
end
redis.call('DEL', book)
end
local function settle(book, B, k, L)
if B.next > now and now >= B.touched then return end
local set_back = math.max(0, B.touched - now)
local fields = redis.call('HGETALL', book)
local ended = {}
B.out, B.holders, B.next = 0, 0, math.huge
for i = 1, #fields, 2 do
local sequence, spent, held, ends = read_holder(fields[i + 1])
if ends then ends = ends - set_back end
if not ends then
redis.call('HDEL', book, fields[i])
elseif ends <= now then
ended[#ended + 1] = { name = fields[i], held = held, ends = ends }
else
B.out = B.out + held
if held > 0 then B.holders = B.holders + 1 end
B.next = math.min(B.next, ends)
if set_back > 0 then redis.call('HSET', book, fields[i], struct.pack(HOLDER, sequence, spent, held, ends)) end
end
end
table.sort(ended, function(one, other) return one.ends < other.ends end)
for _, holding in ipairs(ended) do
redis.call('HDEL', book, holding.name)
if holding.held > 0 then charge(k, L, holding.held, math.min(math.max(holding.ends, B.touched), now)) end
end
end
local function granted(need, ahead, keep_held, free, others)
if free <= 0 then return 0 end
local needed = math.min(need, free)
local share = math.floor((free - needed) / (AHEAD_SHARE * (1 + others)))
return needed + math.max(0, math.min(ahead, share - keep_held))
end
local function reply_with(k, L, B, stale, held, others, cost)
local _, remaining, _, _, expires_at, a, b, c = evaluate(k, L, now, 0, nil)
if expires_at <= now and raws[k] then keep(k, L, expires_at, a, b, c) end
local free = math.max(0, remaining - B.out)
local reset
_, reset = look(k, L, math.min(B.out, remaining))
local retry, lent_retry = 0, 0
if free < cost then
_, _, retry = look(k, L, cost)
_, _, lent_retry = look(k, L, cost + B.out)
end
reply[#reply + 1] = struct.pack('<Bdddddd', stale, held, free, 1 + others, reset, retry, lent_retry)
end
local function exchange(position, holder)
local k, l, sequence, spent, confirmed, kept, need, ahead, cost, lease =
struct.unpack('<I2I2dddddddd', packed, position)
local L = limits[l]
local book = KEYS[2 * counters + k]
if not owner[k] then open(k, L) end
local B = head_of(k)
local known = read_known(book, B, holder)
if B.next <= now or now < B.touched then
settle(book, B, k, L)
known = redis.call('HGET', book, holder)
end
B.touched = now
local known_sequence, known_spent, known_held
if known then known_sequence, known_spent, known_held = read_holder(known) end
local others = B.holders
if known and known_held > 0 then others = others - 1 end
if known and sequence <= known_sequence then
reply_with(k, L, B, 1, known_held, others, cost)
return
end
local reported = spent - (known_spent or confirmed)
if reported > 0 then charge(k, L, reported, now) end
B.out = math.max(B.out - (known_held or 0), 0)
local free = math.max(0, look(k, L, 0) - B.out)
kept = math.min(kept, known and math.max(0, known_held - reported) or free)
local held = kept + granted(need, ahead, kept, free - kept, others)
local ends = now + 2 * lease
B.out = B.out + held
B.holders = others
if held > 0 then B.holders = others + 1 end
B.next = math.min(B.next, ends)
B.matters = math.max(B.matters, ends + horizon(L))
B.is_known = true
redis.call('HSET', book, holder, struct.pack(HOLDER, sequence, spent, held, ends))
redis.call('PEXPIRE', book, string.format('%.0f', B.matters - now + grace))
reply_with(k, L, B, 0, held, others, cost)
end
local EXCHANGE = 68
local function main(keys, args)
if is_function then KEYS, ARGV = keys, args end
use_libraries()
begin(#KEYS, ARGV[1])
local limit_total = tonumber(ARGV[2])
limits, packed, counters, reply, heads = {}, ARGV[3 + limit_total], #KEYS / 3, {}, {}
for i = 1, limit_total do limits[i] = limit_of(ARGV[2 + i]) end
read(2 * counters)
for i = 0, #packed / EXCHANGE - 1 do exchange(1 + i * EXCHANGE, ARGV[4 + limit_total + i]) end
write_all(1, #KEYS)
write_heads()
return table.concat(reply)
end
return main
end
return define()(KEYS, ARGV)`,
  heads: `local HEAD = '<ddddd'
local LONGEST_MS = 631139040000
local function is_amount(x) return x >= 0 and x <= 2 * MAX_COUNT end
local function is_time(x) return is_finite(x) and x <= now + LONGEST_MS end
local function read_head(raw)
if not raw or #raw ~= 40 then return end
local out, holders, next_end, touched, matters = struct.unpack(HEAD, raw)
if is_amount(out) and is_amount(holders) and is_time(next_end) and is_time(touched) and is_time(matters) then
return out, holders, next_end, touched, matters
end
end`,
  libraries: `local is_function = not KEYS
local function libraries() return math, redis, string, struct, table, tonumber, type, unpack end
local math, redis, string, struct, table, tonumber, type, unpack
local call, pcall, pack, read_packed
local function use_libraries()
if math then return end
math, redis, string, struct, table, tonumber, type, unpack = libraries()
call, pcall, pack, read_packed = redis.call, redis.pcall, struct.pack, struct.unpack
end`,
  logs: `local RECORD = 16
local function hits_at(records, position, holders)
if holders then return 1 end
return (struct.unpack('<d', records, position + 8))
end
local function time_at(records, position)
return (struct.unpack('<d', records, position))
end
local function drop_while(records, hits, until_ms, at_least, holders)
local position = 1
while position <= #records do
local here = hits_at(records, position, holders)
if time_at(records, position) > until_ms or hits - here < at_least then break end
hits = hits - here
position = position + RECORD
end
return position, hits
end
local function leaves_at(records, position, hits, latest, holders)
while position <= #records do
hits = hits - hits_at(records, position, holders)
if hits <= 0 then return math.min(time_at(records, position), latest) end
position = position + RECORD
end
return latest
end
local function moved_back(records, position, latest)
local kept = string.sub(records, position)
if #kept == 0 or time_at(kept, #kept - RECORD + 1) <= latest then return kept end
local parts = {}
for at = 1, #kept, RECORD do
parts[#parts + 1] = struct.pack('<d', math.min(time_at(kept, at), latest)) .. string.sub(kept, at + 8, at + 15)
end
return table.concat(parts)
end
local function popped(records, hits, holders)
while hits > 0 and #records > 0 do
local last = #records - RECORD + 1
local here = hits_at(records, last, holders)
local shorter = string.sub(records, 1, last - 1)
if here > hits then
return shorter .. struct.pack('<dd', time_at(records, last), here - hits)
end
records = shorter
hits = hits - here
end
return records
end
local function pushed(records, hits, latest, permit)
if permit then return records .. string.rep(struct.pack('<d', latest) .. permit, hits) end
local last = #records - RECORD + 1
if last > 0 and time_at(records, last) == latest then
return string.sub(records, 1, last - 1) .. struct.pack('<dd', latest, hits_at(records, last) + hits)
end
return records .. struct.pack('<dd', latest, hits)
end
local function log(records, total, L, now, cost, permit)
local holders, limit, window = L.holders, L.limit, L.window
local latest = now
if L.quantum > 1 then latest = now - math.fmod(now, L.quantum) + L.quantum - 1 end
local position, hits = drop_while(records, total, now - window, 0, holders)
if not (hits >= 0 and hits <= MAX_COUNT and hits % 1 == 0) then
records, total, position, hits = '', 0, 1, 0
end
local asked = asked_by(cost)
local code, wait, push, pop, dropped = 0, 0, 0, 0, 0
if cost < 0 then
pop = math.min(-cost, hits)
hits = hits - pop
elseif hits + asked <= limit then
push = cost
hits = hits + cost
else
code = asked > limit and 2 or 1
if L.count_denied and cost > 0 then
push = charged_of(cost, hits, L)
dropped = cost - push
position, hits = drop_while(records, total, math.huge, limit - push, holders)
hits = hits + push
end
if code == 1 then wait = leaves_at(records, position, hits + asked - limit, latest, holders) + window - now end
end
local reset = 0
if hits > 0 then
local last
if push > 0 then
last = latest
elseif pop > 0 then
last = leaves_at(records, position, hits, latest, holders)
else
last = math.min(time_at(records, #records - RECORD + 1), latest)
end
reset = last + window - now
end
local next_records = moved_back(records, position, latest)
if pop > 0 then next_records = popped(next_records, pop, holders) end
if push > 0 then next_records = pushed(next_records, push, latest, holders and (permit or NO_PERMIT)) end
local expires = now + reset
if code == 2 and hits == 0 then reset = window end
return code, math.max(limit - hits, 0), reset, wait, expires, next_records, hits, nil, dropped
end
local function sound_log(records, total, L, now, cost, permit)
local code, remaining, reset, wait, expires, next_records, hits, _, dropped =
log(records, total, L, now, cost, permit)
local longest = 2 * L.window
local is_sound = hits >= 0 and hits <= MAX_COUNT and hits % 1 == 0 and reset >= 0 and reset <= longest and wait >= 0
and wait <= longest
if not is_sound and #records > 0 then return log('', 0, L, now, cost, permit) end
return code, remaining, reset, wait, expires, next_records, hits, nil, dropped
end`,
  plain: `local SHADOW, QUOTA, LENT_MARK = 126, 38, 43
local function costs_of(text)
local costs = {}
for word in string.gmatch(text, '%S+') do costs[#costs + 1] = tonumber(word) end
return costs
end
local function stored_of(raw, key)
if type(raw) == 'table' then return call('MGET', key)[1] end
return raw
end
local MAX_WHOLE = 9007199254740992
local function decide_lone(plan, keys, args, known)
local L, key, cost = plan[1], keys[1], args[2]
if cost then
cost = tonumber(cost)
read_time(args[3] or '')
else
cost = 1
read_clock()
end
local raw, quick = known, L.quick
if raw == nil then raw = pcall('GET', key) end
if raw and quick and cost > 0 then
local reset, remaining, state, life = quick(raw, cost)
if reset then
if life or not may_overwrite or pcall('SETRANGE', key, TAIL_AT[#raw], state) ~= #raw then write_quick(key, raw, state, life) end
local whole = reset * (L.capacity + 1) + remaining
if whole < MAX_WHOLE then return whole end
return pack('<BI4dd', 0, remaining, reset, 0)
end
end
raw, ttls = stored_of(raw, key), nil
local start, one, two, stored = NEVER, 0, 0, nil
if raw then start, one, two, stored = L.read(raw, L) end
local code, remaining, reset, wait, expires_at, a, b, c = L.run(start, one, two, L, now, cost)
if cost ~= 0 then
if expires_at <= now then
if raw then call('DEL', key) end
elseif code == 0 or L.count_denied or a ~= start or b ~= one or c ~= two then
write(L, key, format_numbers(L, a, b, c), expires_at, stored)
end
end
if code == 0 and wait == 0 then
local whole = reset * (L.capacity + 1) + remaining
if whole >= 0 and whole < MAX_WHOLE and whole % 1 == 0 then return whole end
end
return pack('<BI4dd', code, remaining, reset, wait)
end
local LENT_CHARGE = '<I2I2I2dBI2I2I4'
local function decide_lendable(plan, keys, args)
local stored = call('MGET', keys[1], keys[2])
if not stored[2] then return decide_lone(plan, keys, args, stored[1]) end
local cost = tonumber(args[2] or 1)
if is_function then KEYS = keys end
limits[1], packed = plan[1], pack(LENT_CHARGE, 1, 1, 1, cost, LENDABLE + (cost > 0 and KEEP or 0), 2, 0, 0)
if begin(2, args[3] or '') then fitted, named = {}, {} end
reply, replies, raws[1], raws[2] = {}, 0, stored[1], stored[2]
decide_next(1)
write_all(1, 2)
return reply[1]
end
local codes, verdicts, states, ends, stored_ends = {}, {}, {}, {}, {}
local function decide_two(plan, keys, cost, costs)
local quick, other_quick, other_cost = plan[1].quick, plan[2].quick, cost
if costs then cost, other_cost = costs[1], costs[2] end
if not (quick and other_quick and cost > 0 and other_cost > 0) then return nil end
local key, other_key = keys[1], keys[2]
local raw, other_raw = pcall('GET', key), pcall('GET', other_key)
if not (raw and other_raw) then return nil end
local reset, remaining, state, life = quick(raw, cost)
local other_reset, other_remaining, other_state, other_life = other_quick(other_raw, other_cost)
if not (reset and other_reset) then return nil end
write_quick(key, raw, state, life)
write_quick(other_key, other_raw, other_state, other_life)
return pack('<BI4ddBI4dd', 0, remaining, reset, 0, 0, other_remaining, other_reset, 0)
end
local function decide_few(plan, keys, args)
local count, cost, costs = plan.count, args[2], nil
if cost then
cost = tonumber(cost)
if not cost then costs = costs_of(args[2]) end
read_time(args[3] or '')
else
cost = 1
read_clock()
end
if count == 2 then
local answer = decide_two(plan, keys, cost, costs)
if answer then return answer end
end
ttls = nil
local stored = call('MGET', unpack(keys))
local refused, quotas_refused = false, 0
for i = 1, count do
local L, raw = plan[i], stored[i]
if costs then cost = costs[i] end
local start, one, two, stored_end = NEVER, 0, 0, nil
if raw then start, one, two, stored_end = L.read(raw, L) end
local code, remaining, reset, wait, expires_at, a, b, c = L.run(start, one, two, L, now, cost)
codes[i], states[i], verdicts[i] = code, nil, pack('<BI4dd', code, remaining, reset, wait)
if cost ~= 0 then
if expires_at <= now then
states[i] = ''
elseif code == 0 or L.count_denied or a ~= start or b ~= one or c ~= two then
states[i], ends[i], stored_ends[i] = format_numbers(L, a, b, c), expires_at, stored_end
end
end
if code ~= 0 then
if plan[-i] == QUOTA then
quotas_refused = quotas_refused + 1
elseif plan[-i] ~= SHADOW then
refused = true
end
end
end
if quotas_refused > 0 and quotas_refused == plan.quotas then refused = true end
for i = 1, count do
local L, state = plan[i], states[i]
if refused and codes[i] == 0 then
local start, one, two = numbers_of(stored[i], L)
local _, remaining, reset = L.run(start, one, two, L, now, 0)
verdicts[i] = pack('<BI4dd', 0, remaining, reset, 0)
elseif state == '' then
if stored[i] then call('DEL', keys[i]) end
elseif state then
write(L, keys[i], state, ends[i], stored_ends[i])
end
end
if count == 2 then return verdicts[1] .. verdicts[2] end
return table.concat(verdicts, '', 1, count)
end
local plans, plan_count = {}, 0
local function plan_of(text)
if not string.find(text, '^[%a~&+]') then return nil end
local plan = { count = 0, quotas = 0 }
for part in string.gmatch(text, '[^\\n]+') do
local mark, i = string.byte(part), plan.count + 1
if mark == SHADOW or mark == QUOTA or mark == LENT_MARK then part = string.sub(part, 2) end
if mark == QUOTA then plan.quotas = plan.quotas + 1 end
plan[i], plan[-i], plan.count = limit_of(part), mark, i
end
plan.decide = plan.count > 1 and decide_few or plan[-1] == LENT_MARK and decide_lendable or decide_lone
if plan_count == MAX_LIMITS then plans, plan_count = {}, 0 end
plans[text], plan_count = plan, plan_count + 1
return plan
end`,
  quick: `local now
local function quick_ways()
local function quick_sliding(L)
local window, limit = L.window, L.limit
return function(raw, cost)
if #raw ~= 16 then return end
local start, previous, current = read_packed('<dI4I4', raw)
local left, room = window - now + start, limit - current - cost
if current == 0 or not (left >= 1 and left <= window) or previous * (left - 1) >= (room + 1) * window then return end
current = current + cost
if previous > 0 then room = room_for(previous, current, left, limit, window) end
if (left + room) % 1 == 0 then return left, room, pack('<I4', current) end
end
end
local function quick_fixed(L)
local window, limit, edges = L.window, L.limit, L.edges
return function(raw, cost)
if #raw ~= 12 then return end
local start, count = read_packed('<dI4', raw)
local left, room = start + window - now, limit - count - cost
if count == 0 or room < 0 or not (left > 0 and left <= window) then return end
if edges then
left = end_of(start, L) - now
if left <= 0 then return end
end
if (left + room) % 1 == 0 then return left, room, pack('<I4', count + cost) end
end
end
local function quick_tokens(L)
local full, per_hit, per_ms = L.full, L.per_hit, L.per_ms
return function(raw, cost)
if #raw ~= 16 then return end
local at, missing = read_packed('<dd', raw)
if not (at <= now and missing >= 0) then return end
local spent = missing * per_hit + 0.5
local units = full - (spent - spent % 1)
if units < 0 then return end
units = units + (now - at) * per_ms
if units > full then units = full end
units = units - cost * per_hit
if not (units >= 0) then return end
local remaining, reset = units / per_hit, (full - units) / per_ms
reset = reset + -reset % 1
return reset, remaining - remaining % 1, pack('<dd', now, (full - units) / per_hit), reset
end
end
local function quick_moment(L)
local full, per_hit, per_ms, is_leaky = L.full, L.per_hit, L.per_ms, L.run == leaky_bucket
return function(raw, cost)
if #raw ~= 8 then return end
local at = read_packed('<d', raw)
if not (at >= 0) then return end
local tat, now_units = at * per_ms + 0.5, now * per_ms
local used = tat - tat % 1 - now_units
if used <= 0 then
used = 0
elseif is_leaky then
return
end
used = used + cost * per_hit
if not (used <= full) then return end
local remaining, reset = (full - used) / per_hit, used / per_ms
reset = reset + -reset % 1
return reset, remaining - remaining % 1, pack('<d', (now_units + used) / per_ms), reset
end
end
local ways = {
[sliding_window] = quick_sliding, [fixed_window] = quick_fixed, [token_bucket] = quick_tokens, [gcra] = quick_moment,
[leaky_bucket] = quick_moment,
}
return function(L)
if L.is_log or L.is_numbered or (L.run ~= sliding_window and L.run ~= fixed_window and L.per_ms <= 0) then return nil end
return ways[L.run](L)
end
end
local quick_of = is_function and quick_ways()`,
  release: `local RECORD = 16
local given_back = 0
for _, key in ipairs(KEYS) do
local raw = redis.pcall('GET', key)
if type(raw) == 'string' and #raw % RECORD == 4 then
local parts = {}
local held = 0
for at = 5, #raw, RECORD do
if string.sub(raw, at + 8, at + 15) == ARGV[1] then
held = held + 1
else
parts[#parts + 1] = string.sub(raw, at, at + RECORD - 1)
end
end
if held > 0 then
given_back = given_back + held
if #parts == 0 then
redis.call('DEL', key)
else
redis.call('SET', key, struct.pack('<I4', #parts) .. table.concat(parts), 'KEEPTTL')
end
end
end
end
return given_back`,
  renew: `--- @include "libraries"
local function define()
--- @include "counters"
local RENEWAL = 14
local HELD, RETAKEN, OVERRUN, LOST = 0, 1, 2, 3
local limits, packed, reply
local function run_of(position, k)
local wanted, by_id = {}, {}
while position <= #packed do
local key, _, places = struct.unpack('<I2I2I2', packed, position)
if key ~= k then break end
local each = { id = string.sub(packed, position + 6, position + 13), places = places, held = 0 }
wanted[#wanted + 1], by_id[each.id] = each, each
position = position + RENEWAL
end
return position, wanted, by_id
end
local function others_of(all, start, wanted, by_id)
local kept, run, missing = {}, start, #wanted
for position = start, #all, RECORD do
local each = by_id[string.sub(all, position + 8, position + 15)]
if each then
if each.held == 0 then missing = missing - 1 end
each.held = each.held + 1
if position > run then kept[#kept + 1] = string.sub(all, run, position - 1) end
run = position + RECORD
elseif missing == 0 then
break
end
end
kept[#kept + 1] = string.sub(all, run)
return moved_back(table.concat(kept), 1, now)
end
local function renew(k, L, wanted, by_id)
open(k, L)
local start, held = drop_while(records[k], hits[k], now - L.window, 0, true)
local parts = { others_of(records[k], start, wanted, by_id) }
local time = pack('<d', now)
for i = 1, #wanted do
local each = wanted[i]
local code, places = HELD, each.held
if places == 0 then
places = each.places
code = places == 0 and LOST or held + places <= L.limit and RETAKEN or OVERRUN
held = held + places
end
if places > 0 then parts[#parts + 1] = string.rep(time .. each.id, places) end
reply[#reply + 1] = string.char(code)
end
if #parts > 1 then keep(k, L, now + L.window, table.concat(parts), held) end
end
local function main(keys, args)
if is_function then KEYS, ARGV = keys, args end
use_libraries()
begin(#KEYS, ARGV[1])
local limit_total = tonumber(ARGV[2])
limits, packed, reply = {}, ARGV[3 + limit_total], {}
for i = 1, limit_total do limits[i] = limit_of(ARGV[2 + i]) end
read(#KEYS)
local position = 1
while position <= #packed do
local k, l = struct.unpack('<I2I2', packed, position)
local wanted, by_id
position, wanted, by_id = run_of(position, k)
renew(k, limits[l], wanted, by_id)
end
write_all(1, #KEYS)
return table.concat(reply)
end
return main
end
return define()(KEYS, ARGV)`,
  replace: `if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
return 0
end
redis.call('SET', KEYS[1], ARGV[2])
return 1`,
  reset: `local gone = 0
for i = 1, #KEYS, 4 do
if redis.call('DEL', KEYS[i], KEYS[i + 1], KEYS[i + 2], KEYS[i + 3]) > 0 then gone = gone + 1 end
end
local published = 1
for i = 2, #ARGV do
local sent = redis.pcall('PUBLISH', ARGV[1], ARGV[i])
if type(sent) == 'table' and sent.err then published = 0 end
end
return { gone, published }`,
  sample: `local packed = ARGV[2]
local now, grace = tonumber(ARGV[1]), 0
if now then
grace = 86400000
else
local time = redis.call('TIME')
now = math.floor(time[1] * 1000 + time[2] / 1000)
end
local HEAD = '.'
local REPORT = 50
local SUM_MS = 100
local function is_amount(x) return x - x == 0 end
local function read_node(raw)
if not raw or #raw ~= 24 then return end
local offered, admitted, ends = struct.unpack('<ddd', raw)
if is_amount(offered) and offered >= 0 and is_amount(admitted) and is_amount(ends) then return offered, admitted, ends end
end
local function read_head(raw, burst)
if raw and #raw == 32 then
local level, touched, sum, summed = struct.unpack('<dddd', raw)
if is_amount(level) and is_amount(touched) and is_amount(sum) and is_amount(summed) then
return level, touched, sum, summed
end
end
return burst, now, 0, 0
end
local function sum_of(key)
local fields, sum, ended = redis.call('HGETALL', key), 0, {}
for i = 1, #fields, 2 do
if fields[i] ~= HEAD then
local offered, _, ends = read_node(fields[i + 1])
if offered and ends > now then sum = sum + offered else ended[#ended + 1] = fields[i] end
end
end
for i = 1, #ended, 500 do redis.call('HDEL', key, unpack(ended, i, math.min(i + 499, #ended))) end
return sum
end
local function report(position, node)
local k, offered, admitted, recent, refill, burst, life = struct.unpack('<I2dddddd', packed, position)
local key = KEYS[k]
local raw = redis.pcall('HMGET', key, HEAD, node)
if raw.err then
redis.call('DEL', key)
raw = {}
end
local level, touched, sum, summed = read_head(raw[1], burst)
local known_offered, known_admitted = read_node(raw[2])
if now < summed then
redis.call('DEL', key)
known_offered, summed = nil, 0
end
level = math.min(burst, level + math.max(0, now - touched) * refill)
local more = known_admitted and math.min(admitted - known_admitted, recent) or recent
level = math.max(-burst, math.min(burst, level - more))
redis.call('HSET', key, node, struct.pack('<ddd', offered, admitted, now + life))
if now - summed >= SUM_MS then
sum, summed = sum_of(key), now
else
sum = math.max(offered, sum + offered - (known_offered or 0))
end
redis.call('HSET', key, HEAD, struct.pack('<dddd', level, now, sum, summed))
local ttl = math.max(life, refill > 0 and (burst - level) / refill or 0)
redis.call('PEXPIRE', key, string.format('%.0f', math.ceil(ttl) + grace))
return struct.pack('<dd', sum, level)
end
local reply = {}
for i = 0, #packed / REPORT - 1 do reply[#reply + 1] = report(1 + i * REPORT, ARGV[3 + i]) end
return table.concat(reply)`,
  throttle: `local key = KEYS[1]
local now = tonumber(ARGV[1])
local grace = 600000
if not now then
local time = redis.call('TIME')
now = time[1] * 1000 + math.floor(time[2] / 1000)
grace = 0
end
local ttl, limit, block = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local is_log = ARGV[5] == 'log'
local HEADER = 28
local window_ends, block_ends, count_ends, count, hits = 0, 0, 0, 0, ''
local function soonest(ends, span)
if ends ~= ends then return 0 end
return math.min(ends, now + span)
end
local raw = redis.pcall('GET', key)
if type(raw) == 'string' and #raw >= HEADER and (#raw - HEADER) % 8 == 0 then
window_ends, block_ends, count_ends, count = struct.unpack('<dddI4', raw)
window_ends, block_ends = soonest(window_ends, ttl), soonest(block_ends, math.max(block, ttl))
count_ends = soonest(count_ends, ttl)
hits = string.sub(raw, HEADER + 1)
end
if window_ends <= now then window_ends = now + ttl end
local oldest, latest = math.huge, window_ends
if not is_log then
if count_ends <= now then count = 0 end
if count > 0 then oldest, latest = count_ends, math.max(latest, count_ends) end
else
local kept = {}
for at = 1, #hits, 8 do
local ends = soonest((struct.unpack('<d', hits, at)), ttl)
if ends > now then
kept[#kept + 1] = struct.pack('<d', ends)
oldest, latest = math.min(oldest, ends), math.max(latest, ends)
end
end
count, hits = #kept, table.concat(kept)
end
if oldest == math.huge then oldest = window_ends end
local total, wait = 0, 0
if block_ends > now then
total, wait = limit + 1, block_ends - now
elseif count < limit then
if count == 0 then count_ends = now + ttl end
block_ends, count = 0, count + 1
total, latest = count, math.max(latest, now + ttl)
if is_log then hits = hits .. struct.pack('<d', now + ttl) end
else
total, wait, block_ends = limit + 1, oldest - now, 0
if block > 0 then
wait, block_ends, count, hits = block, now + block, 0, ''
end
end
latest = math.max(latest, block_ends)
local state = struct.pack('<dddI4', window_ends, block_ends, count_ends, count) .. hits
redis.call('PSETEX', key, string.format('%.0f', math.max(latest - now, 1) + grace), state)
local is_blocked = 0
if wait > 0 then is_blocked = 1 end
return { total, math.ceil(window_ends - now), is_blocked, math.ceil(wait) }`,
  windows: `local MAX_COUNT = 4294967295
local function asked_by(cost)
if cost == 0 then return 1 end
return cost
end
local function charged_of(cost, used, L) return math.max(0, math.min(cost, L.most - used)) end
local function faded_to(count, free, window)
if count <= free + 1 then return window end
local room = (free + 1) * window
local left = math.ceil(room / count)
if count * (left - 1) >= room then
left = left - 1
elseif count * left < room then
left = left + 1
end
return math.min(left, window)
end
local function room_for(previous, current, left, limit, window)
local weight = previous * (left - 1)
local used = math.floor(weight / window)
local room = limit - current - used
if weight >= (used + 1) * window then
room = room - 1
elseif weight < used * window then
room = room + 1
end
if room < 0 then return 0 end
return room
end
local function sliding_window(start, previous, current, L, now, cost)
local window = L.window
local age = now - start
if age >= window or (previous == 0 and current == 0) then
if current > 0 and age < 2 * window then
previous = current
start = start + window
else
previous = 0
start = now - now % window
end
current = 0
elseif age < 0 then
start = now + 1
end
local left = window - (now - start)
local limit, asked = L.limit, cost
if cost == 0 then asked = 1 end
local code, wait, dropped = 0, 0, 0
if cost < 0 then
local leftover = -cost - current
if leftover < 0 then current = -leftover else current = 0 end
if leftover > 0 then
if previous > leftover then previous = previous - leftover else previous = 0 end
end
elseif asked <= limit and previous * (left - 1) < (limit - current - asked + 1) * window then
current = current + cost
else
code = asked > limit and 2 or 1
if L.count_denied then
local charged = charged_of(cost, math.floor((previous * (left - 1)) / window) + current, L)
current = current + charged
dropped = cost - charged
end
local free = limit - current - asked
if code == 2 then
wait = 0
elseif free >= 0 then
wait = left - faded_to(previous, free, window)
else
wait = left + window - faded_to(current, limit - asked, window)
end
end
local remaining = limit - current
if previous > 0 then
remaining = room_for(previous, current, left, limit, window)
elseif remaining < 0 then
remaining = 0
end
local reset, expires = 0, now
if current > 0 then
reset, expires = left, start + 2 * window
elseif previous > 0 then
reset, expires = left, start + window
elseif code == 2 then
reset = left
end
return code, remaining, reset, wait, expires, start, previous, current, dropped
end
local function window_at(time, L)
local edges = L.edges
if not edges then
local start = time - math.fmod(time, L.window)
return start, start + L.window
end
for i = #edges - 1, 1, -1 do
if time >= edges[i] then return edges[i], edges[i + 1] end
end
return edges[1], edges[2]
end
local function end_of(start, L)
if not L.edges then return start + L.window end
if start < L.edges[1] then return start end
local from, to = window_at(start, L)
return start + (to - from)
end
local function fixed_window(at, first, _, L, now, cost)
local start, count = at, first
if count == 0 or now - start >= L.window or now >= end_of(start, L) then
if L.anchored then start = now else start = window_at(now, L) end
count = 0
elseif now < start then
start = now
end
local finish = end_of(start, L)
local limit, asked = L.limit, asked_by(cost)
local code, wait, dropped = 0, 0, 0
if cost < 0 or count + asked <= limit then
count = math.max(count + cost, 0)
else
if asked > limit then code = 2 else code, wait = 1, finish - now end
if L.count_denied then
local charged = charged_of(cost, count, L)
count = count + charged
dropped = cost - charged
end
end
local reset, expires = 0, now
if count > 0 then
reset, expires = finish - now, finish
elseif code == 2 then
reset = finish - now
end
return code, math.max(limit - count, 0), reset, wait, expires, start, count, 0, dropped
end
local ONE = { [2] = '%.0f%02.0f2', [4] = '%.0f%04.0f4', [5] = '%.0f%05.0f5', [6] = '%.0f%06.0f6', [10] = '%.0f%010.0f0' }
local TWO = {
[2] = '%.0f%02.0f%02.0f2', [4] = '%.0f%04.0f%04.0f4', [5] = '%.0f%05.0f%05.0f5', [6] = '%.0f%06.0f%06.0f6',
[10] = '%.0f%010.0f%010.0f0',
}
local function width_of(count)
if count < 100 then return 2 end
if count < 10000 then return 4 end
if count < 100000 then return 5 end
if count < 1000000 then return 6 end
return 10
end
local function format_window(start, first, second, L)
if L.run ~= sliding_window then return string.format(ONE[width_of(first)], start, first) end
local number = start / L.window
if number ~= math.floor(number) then number = -start end
return string.format(TWO[width_of(math.max(first, second))], number, first, second)
end
local MAX_DIGITS = 36
local function read_window(raw, L)
if type(raw) ~= 'string' then return NEVER, 0, 0 end
local width = tonumber(string.sub(raw, -1))
if width == 0 then width = 10 end
if width and #raw <= MAX_DIGITS and string.find(raw, '^-?%d+$') then
local last = tonumber(string.sub(raw, -1 - width, -2))
if L.run ~= sliding_window then
local start = tonumber(string.sub(raw, 1, -2 - width))
if start and last <= MAX_COUNT then return start, last, 0 end
else
local number = tonumber(string.sub(raw, 1, -2 - 2 * width))
local previous = tonumber(string.sub(raw, -1 - 2 * width, -2 - width))
if number and previous and previous <= MAX_COUNT and last <= MAX_COUNT then
return number < 0 and -number or number * L.window, previous, last
end
end
end
return NEVER, 0, 0
end`,
} as const
