/** Returns the whole message of the error that a call raises. */
export function raisedBy(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('nothing was raised')
}
