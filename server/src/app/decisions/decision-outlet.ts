import type { Log } from '../log/log.ts'
import type { Config } from '../settings/config.ts'
import { RotatingFile } from './rotating-file.ts'

const BYTES_A_MIB = 1_048_576

/** Where the lines of all processes go: one writer for one file, or standard output. */
export interface DecisionOutlet {
  /** Takes lines. Resolves when there is room for more, and never rejects. */
  send(text: string): Promise<void>
  /** Opens the file of the same name again, whether or not the previous one still exists. */
  reopen(): Promise<void>
  close(): Promise<void>
}

/** Opens what --decision-log names. */
export function openOutlet({ decisionLog }: Pick<Config, 'decisionLog'>, log: Log): DecisionOutlet | undefined {
  if (decisionLog === undefined) return undefined
  const { target: path, maxMib, files: keep } = decisionLog
  if (path === 'stdout') return standardOutput(log)
  const file = new RotatingFile(
    { path, maxBytes: maxMib * BYTES_A_MIB, keep },
    {
      failed: (reason) =>
        log.error('decisions.failed', `the decision log ${path} cannot be written, lines are lost: ${reason}`, {
          path,
          reason,
        }),
      recovered: () => log.info('decisions.recovered', `the decision log ${path} is written again`, { path }),
    },
  )
  return { send: async (text) => void (await file.write(text)), reopen: () => file.reopen(), close: () => file.close() }
}

/** Writes lines in between the lines of the log, which never waits for its reader. */
function standardOutput(log: Log): DecisionOutlet {
  const nothing = async (): Promise<void> => {}
  return { send: async (text) => log.print(text), reopen: nothing, close: nothing }
}
