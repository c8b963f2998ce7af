-- Quick ways: what the algorithms say about a cost above 0 that a stored counter has room for, bit for bit. Nearly every decision is about such a
-- one, and most of what it costs apart from the commands is Lua.
--
-- quick_of makes the way of a limit, a function of the stored state and the cost, which returns
--   reset, remaining    as the algorithms do
--   state               what takes the place of the stored state; of a window, of its last 4 bytes
--   life                of a bucket: in how many ms it expires. A window expires when it did before
-- or nothing for everything else, which is for the algorithms to decide.
--
-- A script would define them with every call, which costs more than they save: there are none.
--
-- x - x % 1 rounds down, and x + -x % 1 up, what is not negative, at a fifth of what a function of math costs.

-- now: when the call came.
local now

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
      -- What is in debt may have another end.
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
      -- A minus marks a debt.
      if not (at >= 0) then return end
      local tat, now_units = at * per_ms + 0.5, now * per_ms
      local used = tat - tat % 1 - now_units
      if used <= 0 then
        used = 0
      elseif is_leaky then
        -- It must wait.
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
  -- Logs have no way, nor have windows that are kept as whole numbers, and buckets that do not fill.
  return function(L)
    if L.is_log or L.is_numbered or (L.run ~= sliding_window and L.run ~= fixed_window and L.per_ms <= 0) then return nil end
    return ways[L.run](L)
  end
end

local quick_of = is_function and quick_ways()
