-- The window algorithms, as in core/algorithms/sliding-window.ts and fixed-window.ts. Each takes the state's numbers, the
-- limit L, the time and the cost, and returns
--   code (0 allowed, 1 refused, 2 impossible), remaining, resetAfterMs, waitMs, expiresAtMs, at, first, second, dropped
-- where waitMs is when a refused hit may come again, or how long an admitted one has to wait, and dropped is how much of a
-- refused cost that is charged (L.count_denied) was not: no counter goes beyond L.most.

local MAX_COUNT = 4294967295

-- asked_by: the cost that has to fit: a look, which costs 0, asks whether the next hit does.
local function asked_by(cost)
  if cost == 0 then return 1 end
  return cost
end

local function charged_of(cost, used, L) return math.max(0, math.min(cost, L.most - used)) end

-- faded_to: the longest rest of a window, in ms, at which `count` hits of the window before weigh below `free` + 1.
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

-- room_for: the largest whole cost that fits now, when there were hits in the window before.
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

-- window_at: the start and the end of the window that a time lies in. With a calendar, L.edges holds the edges of the
-- windows around the present, ascending.
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

-- A compact state is a whole number in decimal digits, which Redis keeps in the 8 bytes of a pointer when it is less than
-- 2^63: the window, what was counted in the window before (of a sliding window) and in this one, with as many digits each as
-- the last digit says, where 0 stands for 10. The window is its number since 1970; with a minus, or where windows do not
-- follow a grid, the ms at which it began. What is larger than 2^63 is kept as text, and means the same.
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

-- read_window: the numbers of a compact state. What cannot be one is a window in which nothing was counted.
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
end
