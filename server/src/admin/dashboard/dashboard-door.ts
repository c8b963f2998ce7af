import type { IncomingMessage, ServerResponse } from 'node:http'
import { problem } from 'sluice/internal/core/http/problem'
import { wantsHtml } from '../../edge/http/accept.ts'
import { writeProblem } from '../../edge/http/write.ts'
import type { Dashboard } from './dashboard.ts'

/** Where the built dashboard is. */
export interface DashboardPlace {
  folder(): URL
  /** How long a reader may take nothing. Default: 30 s. */
  readonly stalledMs?: number | undefined
}

const ASSETS = '/assets/'
/** A file next to the page, whose name stays when it changes. */
const FILE = /^\/[a-z][a-z0-9-]*\.[a-z0-9]+$/
/** Pages have a word as the first part of their path. What is below /admin belongs to the API. */
const PAGE = /^\/(?!(?:admin|assets)(?:\/|$))[a-z][a-z0-9-]*(?:\/|$)/

/** DashboardDoor knows which requests are for the dashboard. Nothing of that is loaded before the first of them. */
export class DashboardDoor {
  readonly #place: DashboardPlace
  #loaded: Promise<Dashboard> | undefined

  constructor(place: DashboardPlace) {
    this.#place = place
  }

  /** page answers a browser with the dashboard. It returns false, and does nothing, for everybody else. */
  async page(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    if (!isLook(request) || !wantsHtml(request.headers.accept)) return false
    await (await this.#load()).page(request, response)
    return true
  }

  /** Answers a request for a path that no other route has. It returns false where that is not of the dashboard. */
  async answer(request: IncomingMessage, response: ServerResponse, path: string): Promise<boolean> {
    if (PAGE.test(path)) return this.page(request, response)
    if (!path.startsWith(ASSETS)) {
      return FILE.test(path) && isLook(request) && (await this.#load()).file(request, response, path)
    }
    if (isLook(request)) await (await this.#load()).asset(request, response, path)
    else {
      response.setHeader('Allow', 'GET, HEAD')
      writeProblem(response, problem(405, 'Method Not Allowed', `${ASSETS} takes GET or HEAD`))
    }
    return true
  }

  #load(): Promise<Dashboard> {
    this.#loaded ??= import('./dashboard.ts').then(
      (loaded) => new loaded.Dashboard(this.#place.folder(), this.#place.stalledMs),
    )
    return this.#loaded
  }
}

function isLook({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD'
}
