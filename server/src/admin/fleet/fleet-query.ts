import type { About, FleetQuestions, FleetScope } from './fleet-questions.ts'

/** What a view of the fleet is: how one node answers, what of that others are sent, and what they take from others. */
export interface FleetQuerySpec<T> {
  /** The name by which nodes ask each other. Nodes of other versions know it: it stays. */
  readonly name: string
  /** What this node answers: what its processes report, as one. */
  own(about: About): Promise<T>
  /** Returns what others are sent: no more than MAX_ANSWER characters in JSON. */
  sent(answer: T): unknown
  /** Checks what another node sent: who can write to Redis can write anything. Undefined: it has another form. */
  read(answer: unknown): T | undefined
}

/** What nodes answered: this one, and others by their ids. */
export interface FleetAnswer<T> {
  readonly own: T
  readonly others: ReadonlyMap<string, T>
  /** How many nodes answered, and how many did not in time, or were too many to ask. */
  readonly nodes: number
  readonly nodesLeftOut: number
}

/** A FleetQuery asks this node, and all others on the same Redis, and answers when others ask. */
export class FleetQuery<T> {
  readonly #questions: FleetQuestions
  readonly #spec: FleetQuerySpec<T>

  constructor(questions: FleetQuestions, spec: FleetQuerySpec<T>) {
    this.#questions = questions
    this.#spec = spec
    questions.answer(spec.name, async (about) => spec.sent(await spec.own(about)))
  }

  /** Resolves with all answers. A node that does not answer in time, or in another form, is left out. */
  async ask(scope: FleetScope, about: About = []): Promise<FleetAnswer<T>> {
    const asked = this.#spec.own(about)
    const { answers, leftOut } = scope === 'node' ? NO_OTHERS : await this.others(about)
    return {
      own: await asked,
      others: answers as ReadonlyMap<string, T>,
      nodes: 1 + answers.size,
      nodesLeftOut: leftOut,
    }
  }

  /** Resolves with what other nodes answer. */
  others(about: About) {
    return this.#questions.ask(this.#spec.name, about, this.#spec.read)
  }
}

const NO_OTHERS = { answers: new Map<string, never>(), leftOut: 0 }
