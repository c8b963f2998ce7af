import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const root = new URL('../../', import.meta.url)

/** An ExampleApp is a program of examples/ that listens on a port of its own. */
export interface ExampleApp extends AsyncDisposable {
  readonly url: string
}

/** Starts a program of examples/ and waits until it says where it listens. */
export async function runExample(file: string, env: Readonly<Record<string, string>> = {}): Promise<ExampleApp> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`examples/${file}`, root))], {
    env: { ...process.env, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const url = await listening(child)
  return {
    url,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.kill()) await once(child, 'exit')
    },
  }
}

function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = ''
    const read = (chunk: Buffer): void => {
      printed += chunk.toString()
      const url = /listening on (http:\/\/\S+)/.exec(printed)?.[1]
      if (url !== undefined) resolve(url)
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('exit', () => reject(new Error(`the example ended: ${printed}`)))
  })
}
