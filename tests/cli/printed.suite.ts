import { vi } from 'vitest'

/** Carries out a command in this process, and returns what it prints. Errors are thrown. */
export async function printedBy(command: (args: readonly string[]) => Promise<void>, args: readonly string[]) {
  let printed = ''
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text)
    return true
  })
  try {
    await command(args)
  } finally {
    write.mockRestore()
  }
  return printed
}

/** Carries out a command that fails, and returns the whole message. */
export async function refusedBy(command: (args: readonly string[]) => Promise<void>, args: readonly string[]) {
  return printedBy(command, args).then(
    (printed) => `printed ${printed}`,
    (error: Error) => error.message,
  )
}

/** Joins lines as a terminal shows them. */
export function lines(...all: readonly string[]): string {
  return `${all.join('\n')}\n`
}
