import { signal } from '@preact/signals'

/** comeback rises when the server or the session is there again. What failed meanwhile is then read again. */
export const comeback = signal(0)

export function comeBack(): void {
  comeback.value = comeback.peek() + 1
}
