/** A RuleProblem is one thing that is wrong with rules, as `sluice check --json` has it. */
export interface RuleProblem {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly code: string
  readonly message: string
  readonly rule: string
}

/** An ApiProblem is why the admin API did not do what it was asked for. Status 0: it could not be reached. */
export class ApiProblem extends Error {
  readonly status: number
  readonly code: string
  readonly problems: readonly RuleProblem[]
  readonly retryAfterMs: number | undefined

  constructor(
    status: number,
    code: string,
    message: string,
    problems: readonly RuleProblem[] = [],
    retryAfterMs?: number,
  ) {
    super(message)
    this.name = 'ApiProblem'
    this.status = status
    this.code = code
    this.problems = problems
    this.retryAfterMs = retryAfterMs
  }

  get isOffline(): boolean {
    return this.status === 0
  }

  /** The same request may succeed later, without a change. */
  get isPassing(): boolean {
    return this.isOffline || this.status === 429 || this.status >= 500
  }
}

/** asProblem returns what was thrown as an ApiProblem. */
export const asProblem = (error: unknown): ApiProblem =>
  error instanceof ApiProblem ? error : new ApiProblem(0, '', String(error))

/** problemOf reads what an answer that is no success says. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const seconds = Number(response.headers.get('Retry-After'))
  const retryAfterMs = seconds > 0 ? seconds * 1000 : undefined
  try {
    const { code, detail, title, problems } = await response.json()
    const message = String(detail ?? title ?? `The server answered ${response.status}.`)
    return new ApiProblem(response.status, String(code ?? ''), message, problems ?? [], retryAfterMs)
  } catch {
    return new ApiProblem(response.status, '', `The server answered ${response.status}.`, [], retryAfterMs)
  }
}
