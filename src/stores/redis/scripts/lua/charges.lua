-- Groups of charges, for scripts that decide them. It takes KEYS, `limits` and the packed groups, which decide describes, and
-- collects verdicts in `reply`.

--- @include "counters"
--- @include "heads"

local limits, packed, reply, replies = {}, nil, {}, 0

-- A charge takes CHARGE bytes, of which the last 8 are the id of its permits, if it takes any: a text that is not needed
-- is not made.
local CHARGE, KEEP = 21, 4
-- What may be lent, and has its head behind it. Of most such counters nothing is out: there is no head, and the charge is as any other.
local LENDABLE = 96
local function permit_at(position, flags)
  if flags % 16 >= 8 then return string.sub(packed, position + 13, position + 20) end
end

-- lent_at: what is out of the counter of a charge; infinite where the book has to be settled before that is known.
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

-- with_lent: the code and the numbers of a cost as if what is lent were spent.
local LENT = 3
local function with_lent(lent, k, L, cost, code, remaining, reset, wait)
  if code ~= 0 and lent < math.huge then return code, math.max(remaining - lent, 0), reset, wait end
  if cost + lent > L.capacity then return LENT, 0, reset, 1 end
  local together, left, whole_reset, until_free = evaluate(k, L, now, cost + lent, nil)
  if together ~= 0 or (cost == 0 and left == 0) then return LENT, 0, whole_reset, math.max(until_free, 1) end
  return 0, left, whole_reset, 0
end

-- debit: makes a late charge. The limit is the same, but counts further, up to twice its capacity.
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

-- decide_numbers: a charge of a counter that is no log, of which nothing is lent, and that is not late. It is what decide_one does for
-- it, without a call for each step: half of what a decision in a large batch costs is Lua.
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

-- decide_one: the only charge of a group, which stands at a position.
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

-- The charges of a group are tables that the next group uses again. `named` has the number of the group that named a counter
-- last, and `fitted` what of it fits.
local charges, fitted, named, group = {}, {}, {}, 0

local function decide_group(count, position)
  group = group + 1
  local refused, quotas, quotas_refused = false, 0, 0
  -- Nothing is named twice, and no permit is taken: what was computed to decide is what is kept.
  local is_simple = true
  for i = 1, count do
    local k, l, cost, flags = struct.unpack('<I2I2dB', packed, position)
    local permit, lent = permit_at(position, flags), lent_at(position, flags, k)
    position = position + CHARGE
    local L = limits[l]
    if not owner[k] then open(k, L) end
    -- A counter that the group names twice is asked for the sum of what fits.
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
      -- What would have fitted was not charged, and its budget is reported as it is.
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

-- decide_pair: a group of two counters that both have room, see quick. It returns whether it was one; otherwise nothing was done.
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

-- decide_next: the group at a position, and where the next one begins. Every group has a charge.
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
end
