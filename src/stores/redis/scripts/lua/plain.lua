-- Plain groups, for decide: the one group of a call, which names each counter once and only asks for costs. That is what calls of a
-- quiet service are, so it does without the tables of a batch. What its keys and arguments are, decide describes.

local SHADOW, QUOTA, LENT_MARK = 126, 38, 43

-- costs_of: what a text asks of each limit.
local function costs_of(text)
  local costs = {}
  for word in string.gmatch(text, '%S+') do costs[#costs + 1] = tonumber(word) end
  return costs
end

-- stored_of: the state that GET read. Where it met an error, MGET shows which: it returns nothing for a key of another
-- type, and fails for a user that may not read.
local function stored_of(raw, key)
  if type(raw) == 'table' then return call('MGET', key)[1] end
  return raw
end

-- MAX_WHOLE: from here on, not every whole number is a double.
local MAX_WHOLE = 9007199254740992

-- decide_lone does for one charge what decide_one does. `known` is what is stored, false for nothing, where it was read.
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

-- decide_lendable: a lone charge of a counter that may be lent, whose head is the second key. Where there is none, nothing is out.
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

-- decide_two: the answer to a group of two that both have room, see quick; nothing about others, of which nothing was done.
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

-- decide_few does what decide_group does.
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
      -- What would have fitted was not charged, and its budget is reported as it is.
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

-- plan_of: the limits of a text, what each begins with (~ and & are marks of rules that do not enforce, + is that of a lone one whose
-- counter may be lent), and how they are decided. A function keeps it for the next call. There is none where the call is not about a plain group: a time has digits, or is empty.
local plans, plan_count = {}, 0
local function plan_of(text)
  if not string.find(text, '^[%a~&+]') then return nil end
  local plan = { count = 0, quotas = 0 }
  for part in string.gmatch(text, '[^\n]+') do
    local mark, i = string.byte(part), plan.count + 1
    if mark == SHADOW or mark == QUOTA or mark == LENT_MARK then part = string.sub(part, 2) end
    if mark == QUOTA then plan.quotas = plan.quotas + 1 end
    plan[i], plan[-i], plan.count = limit_of(part), mark, i
  end
  plan.decide = plan.count > 1 and decide_few or plan[-1] == LENT_MARK and decide_lendable or decide_lone
  if plan_count == MAX_LIMITS then plans, plan_count = {}, 0 end
  plans[text], plan_count = plan, plan_count + 1
  return plan
end
