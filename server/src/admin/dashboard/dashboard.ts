import type { IncomingMessage, ServerResponse } from 'node:http'
import { problem } from 'sluice/internal/core/http/problem'
import { preferred } from '../../edge/http/accept.ts'
import { write, writeProblem } from '../../edge/http/write.ts'
import { type BuiltFile, CODINGS, type Coding, DashboardFiles, DashboardMissing } from './dashboard-files.ts'

const INDEX = '/index.html'

/** The name of an asset changes with its content. All else is asked for every time, and mostly answered 304. */
const CACHE = { asset: 'public, max-age=31536000, immutable', other: 'no-cache' } as const

/** How long a reader may take nothing of an answer before it is cut off. */
export const STALLED_MS = 30_000

/** Dashboard answers with the built pages. They hold no data: whatever they show, they ask the admin API for. */
export class Dashboard {
  readonly #files: DashboardFiles
  readonly #stalledMs: number

  constructor(folder: URL, stalledMs = STALLED_MS) {
    this.#files = new DashboardFiles(folder)
    this.#stalledMs = stalledMs
  }

  /** page answers with the page that all paths of the dashboard share: it knows by its address what to show. */
  page(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Programs get something else at the same address.
    return this.#answer(request, response, INDEX, { 'Cache-Control': CACHE.other, Vary: 'Accept, Accept-Encoding' })
  }

  asset(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    return this.#answer(request, response, path, { 'Cache-Control': CACHE.asset, Vary: 'Accept-Encoding' })
  }

  /** Answers with a file that lies next to the page. It returns false where there is none of that name. */
  async file(request: IncomingMessage, response: ServerResponse, path: string): Promise<boolean> {
    const file = path === INDEX ? undefined : await this.#files.find(path).catch(noneOfMissing)
    if (file === undefined) return false
    await this.#answer(request, response, path, { 'Cache-Control': CACHE.other, Vary: 'Accept-Encoding' })
    return true
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<void> {
    try {
      const file = await this.#files.find(path)
      if (file === undefined) writeProblem(response, problem(404, 'Not Found', 'the dashboard has no such file'))
      else await this.#send(request, response, { path, file, headers })
    } catch (error) {
      if (!(error instanceof DashboardMissing)) throw error
      response.setHeader('Cache-Control', 'no-store')
      write(response, 503, 'text/plain; charset=utf-8', missingText(error))
    }
  }

  async #send(
    request: IncomingMessage,
    response: ServerResponse,
    { path, file, headers }: { path: string; file: BuiltFile; headers: Readonly<Record<string, string>> },
  ): Promise<void> {
    const offered = CODINGS.filter((each) => file.bytes[each] !== undefined)
    const coding: Coding = preferred(header(request, 'accept-encoding'), offered)
    const tag = `"${file.hash}${coding === 'identity' ? '' : `-${coding}`}"`
    const shared = { ...headers, ETag: tag }
    if (isKnown(request.headers['if-none-match'], tag)) {
      response.writeHead(304, shared).end()
      return
    }
    const body = request.method === 'HEAD' ? undefined : await this.#files.read(path, file, coding)
    response.setTimeout(this.#stalledMs)
    response.writeHead(200, {
      ...shared,
      'Content-Type': file.type,
      'Content-Length': file.bytes[coding] ?? 0,
      ...(coding !== 'identity' && { 'Content-Encoding': coding }),
    })
    response.end(body)
  }
}

function noneOfMissing(error: unknown): undefined {
  if (!(error instanceof DashboardMissing)) throw error
}

function header({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(',') : value
}

/** isKnown says whether If-None-Match names a tag. A proxy may have made it a weak one. */
function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some((each) => ['*', tag, `W/${tag}`].includes(each.trim()))
}

const missingText = ({ message }: Error): string =>
  `The dashboard is not there: ${message}.\n` +
  'In a checkout of the sources, `npm run build` builds it; then load this page again. The package sluice-server contains it.\n' +
  'Everything else works without it. The paths of this port: curl http://THIS-ADDRESS/\n'
