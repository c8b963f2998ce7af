import type { Priority } from 'sluice/internal/core/shedding/priority'
import { isBelieved, type PriorityHeader, readSaidPriority } from 'sluice/internal/http-door/priority-header'
import type { GatewayRequest } from '../gateway/gate.ts'
import { joinedField } from './request-reader.ts'

/**
 * Returns the priority that a trusted caller claims. From other callers the field is ignored and removed, because the
 * upstream may trust it.
 */
export function saidPriority(request: GatewayRequest, header: PriorityHeader | undefined): Priority | undefined {
  if (header === undefined) return undefined
  if (!isBelieved(header, request)) {
    request.hide(header.name)
    return undefined
  }
  return readSaidPriority(joinedField(request.headers, header.name))
}
