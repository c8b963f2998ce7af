import { signal } from '@preact/signals'

/** recovery rises when the server or the session has recovered. What failed meanwhile is then read again. */
export const recovery = signal(0)

export function announceRecovery(): void {
  recovery.value = recovery.peek() + 1
}
