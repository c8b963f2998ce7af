import { ErrorCode, MAX_WINDOW_BYTES, readUint32, Setting } from './frames.ts'

/** Follows the settings of the client that matter to us. */
export interface SettingsTarget {
  setHeaderTableBytes(bytes: number): void
  /** Returns false if a stream's window would pass its limit. */
  setInitialWindow(bytes: number): boolean
}

export interface SettingsFault {
  readonly code: ErrorCode
  readonly rule: string
}

/**
 * Follows the settings of a frame up to the first that breaks a rule (RFC 9113, 6.5.2). Of several windows the last
 * counts: each costs a look at every stream, and nothing can be sent between them.
 */
export function applySettings(
  bytes: Uint8Array,
  start: number,
  end: number,
  target: SettingsTarget,
): SettingsFault | undefined {
  let window = -1
  for (let at = start; at < end; at += 6) {
    const id = (bytes[at] << 8) | bytes[at + 1]
    const value = readUint32(bytes, at + 2)
    const fault = faultOf(id, value)
    if (fault !== undefined) return fault
    if (id === Setting.HEADER_TABLE_SIZE) target.setHeaderTableBytes(value)
    else if (id === Setting.INITIAL_WINDOW_SIZE) window = value
  }
  return window < 0 || target.setInitialWindow(window) ? undefined : WINDOW_FAULT
}

const WINDOW_FAULT: SettingsFault = {
  code: ErrorCode.FLOW_CONTROL_ERROR,
  rule: 'INITIAL_WINDOW_SIZE takes a window past 2^31-1',
}

function faultOf(id: number, value: number): SettingsFault | undefined {
  switch (id) {
    case Setting.ENABLE_PUSH:
      return value > 1 ? { code: ErrorCode.PROTOCOL_ERROR, rule: 'ENABLE_PUSH must be 0 or 1' } : undefined
    case Setting.INITIAL_WINDOW_SIZE:
      return value > MAX_WINDOW_BYTES ? WINDOW_FAULT : undefined
    case Setting.MAX_FRAME_SIZE:
      if (value >= 16_384 && value <= 16_777_215) return undefined
      return { code: ErrorCode.PROTOCOL_ERROR, rule: 'MAX_FRAME_SIZE must be from 2^14 to 2^24-1' }
    default:
      return undefined
  }
}
