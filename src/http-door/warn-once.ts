import { warnProcess } from '../core/warn-process.ts'

const MOST = 100
const warned = new Set<string>()

/** Emits each warning once per process: an outage would flood the log otherwise. */
export function warnOnce(text: string): void {
  if (warned.has(text) || warned.size >= MOST) return
  warned.add(text)
  warnProcess(text)
}
