import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { ENV } from '../cli/sluice-process.suite.ts'

const SLUICE = fileURLToPath(new URL('../../server/bin/sluice.mjs', import.meta.url))
const run = promisify(execFile)

/** An Expectation is what a page says that a command is answered. */
interface Expectation {
  readonly status: number
  /** What the answer contains. */
  readonly text: string
}

/** Reads `# → 200 a part of the body`. A curl command that says nothing is answered 200; other commands print nothing. */
function expectationOf(command: string): Expectation {
  const [, status = '200', text = ''] = /# → (\d{3}) ?(.*)$/.exec(command) ?? []
  return { status: Number(status), text }
}

/** Returns the commands in the shell blocks of a page, in their order. */
export function commandsOf(page: string): readonly string[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) => block.trimEnd().split(/(?<!\\)\n/))
}

/** Where a page is followed: what it calls localhost:8082 is found elsewhere, and `sluice` is that of this repository. */
export interface PageRun {
  readonly addresses: ReadonlyMap<string, string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/**
 * Has a shell run commands as a reader pastes them, one after the other, and compares what each is answered with what
 * the page says.
 */
export async function runCommands(commands: readonly string[], { addresses, cwd, env }: PageRun): Promise<void> {
  const script = commands.map((command, i) => `${scripted(command, addresses)}\nprintf '${MARK}%s ${i}${MARK}' "$?"`)
  const { stdout, stderr } = await run(
    'sh',
    ['-c', [`sluice() { '${process.execPath}' '${SLUICE}' "$@"; }`, ...script].join('\n')],
    {
      cwd,
      env: { ...ENV, ...env },
    },
  )
  const printed = stdout.split(new RegExp(`${MARK}(\\d+) \\d+${MARK}`))
  const found = commands.map((command, i) => {
    const [text, exit] = [printed[2 * i], printed[2 * i + 1]]
    if (!command.startsWith('curl ')) return { command, exit, text }
    const at = text.lastIndexOf('\n')
    const expected = expectationOf(command).text
    return { command, exit, status: Number(text.slice(at)), text: text.includes(expected) ? expected : text }
  })
  const told = commands.map((command) =>
    command.startsWith('curl ') ? { command, exit: '0', ...expectationOf(command) } : { command, exit: '0', text: '' },
  )
  expect(found, stderr).toEqual(told)
}

/** What stands between the outputs of commands. */
const MARK = '\x01'

/** Has curl print the status behind the answer. */
function scripted(command: string, addresses: ReadonlyMap<string, string>): string {
  const moved = command.replaceAll(/localhost:(\d+)/g, (_, port: string) => addressOf(port, command, addresses))
  return moved.replace(/^curl /, "curl -sS -w '\\n%{http_code}' ")
}

function addressOf(port: string, command: string, addresses: ReadonlyMap<string, string>): string {
  const address = addresses.get(port)
  if (address === undefined) throw new Error(`nothing runs on port ${port}: ${command}`)
  return address
}

/** A CurlExample is a curl command of a page, with the answer that it promises: `# → 200 a part of the body`. */
export interface CurlExample extends Expectation {
  readonly command: string
  readonly url: string
  readonly request: RequestInit
}

/**
 * Reads a curl command of a page, for servers that run on other ports: `addresses` has where each port of the page is
 * found, as in `8080` → `http://127.0.0.1:34567`.
 */
export function curlExample(command: string, addresses: ReadonlyMap<string, string>, token = ''): CurlExample {
  const [, port = '', path = ''] = /localhost:(\d+)(\S*?)'?(?:\s|$)/.exec(command) ?? []
  const [, method] = /-X (\w+)/.exec(command) ?? []
  const [, body] = /--json '([^']*)'/.exec(command) ?? []
  const headers = [...command.matchAll(/-H '([^:']+): ([^']*)'/g)].map(([, name, value]) => [name, value])
  return {
    command,
    url: addressOf(port, command, addresses) + path,
    request: {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: Object.fromEntries([
        ...headers.map(([name, value]) => [name, value.replace('TOKEN', token)]),
        ...(body === undefined ? [] : [['content-type', 'application/json']]),
      ]),
      ...(body !== undefined && { body }),
    },
    ...expectationOf(command),
  }
}
