import type { Clock } from './clock.ts'
import { HeldBytes, type Holder } from './held-bytes.ts'
import { networkOf } from './network.ts'
import { type BudgetRate, RateBudget } from './rate-budget.ts'
import { Lane, type Task, type Turns } from './turns.ts'

/** What all clients together, one address, and one connection may take of a process. */
export interface ClientBounds {
  readonly maxHeldBytes: number
  readonly maxHeldBytesPerAddress: number
  readonly maxHeldBytesPerConnection: number
  readonly resets: BudgetRate
  readonly resetsPerAddress: BudgetRate
  /** For a connection, when the budget of the process is used up. */
  readonly resetsPerConnection: BudgetRate
}

/** What a connection was ended for. */
export type Excess = 'resets' | 'bytes'

/** Networks without a connection whose budgets have not recovered. For more, the oldest are forgotten. */
const MAX_RESTING = 10_000

/** What connections of one network share. */
class Network {
  readonly name: string
  readonly lane = new Lane()
  readonly held: HeldBytes
  readonly connections = new Set<ConnectionBudget>()
  resets: RateBudget | undefined
  served = 0

  constructor(name: string, maxHeldBytes: number) {
    this.name = name
    this.held = new HeldBytes(maxHeldBytes, () => this.connections)
  }
}

/** The budgets of a process, of each address, and of each connection. */
export class ClientBudgets {
  readonly bounds: ClientBounds
  readonly clock: Clock
  readonly turns: Turns
  readonly held: HeldBytes
  readonly #resets: RateBudget
  readonly #networks = new Map<string, Network>()
  /** Those without connections that are remembered, the oldest first. */
  readonly #resting = new Set<Network>()
  readonly #all = new Set<ConnectionBudget>()
  #served = 0
  /** Connections that were ended, by what for. */
  readonly ended: Record<Excess, number> = { resets: 0, bytes: 0 }

  constructor(bounds: ClientBounds, clock: Clock, turns: Turns) {
    this.bounds = bounds
    this.clock = clock
    this.turns = turns
    this.held = new HeldBytes(bounds.maxHeldBytes, () => this.#all)
    this.#resets = new RateBudget(bounds.resets, clock.nowMs())
  }

  /**
   * Counts a connection. A trusted proxy has many clients behind it: the budgets of its connection and of the process
   * hold, and none of its address. `end` is called once, if the connection takes too much.
   */
  open(address: string, isProxy: boolean, end: (excess: Excess) => void): ConnectionBudget {
    const name = networkOf(address)
    const known = this.#networks.get(name)
    const network = known ?? new Network(name, this.bounds.maxHeldBytesPerAddress)
    if (known === undefined) this.#networks.set(name, network)
    this.#resting.delete(network)
    const budget = new ConnectionBudget(this, network, isProxy, end)
    network.connections.add(budget)
    this.#all.add(budget)
    return budget
  }

  close(budget: ConnectionBudget, network: Network): void {
    this.#all.delete(budget)
    network.connections.delete(budget)
    if (network.connections.size > 0) return
    if (network.resets === undefined) this.#networks.delete(network.name)
    else this.#resting.add(network)
    this.#forget()
  }

  served(network: Network): void {
    network.served++
    this.#served++
  }

  /** Takes a reset from the budgets of the address and the process, and says which of them is used up. */
  spendReset(network: Network, isProxy: boolean): 'address' | 'process' | undefined {
    const nowMs = this.clock.nowMs()
    network.resets ??= new RateBudget(this.bounds.resetsPerAddress, nowMs, network.served)
    if (!isProxy && !network.resets.spend(nowMs, network.served)) return 'address'
    return this.#resets.spend(nowMs, this.#served) ? undefined : 'process'
  }

  /** Forgets networks that have recovered: two for each that becomes idle. */
  #forget(): void {
    const nowMs = this.clock.nowMs()
    let looks = 2
    for (const network of this.#resting) {
      const isOver = this.#resting.size > MAX_RESTING
      if (!isOver && looks-- === 0) return
      if (!isOver && network.resets?.isFull(nowMs, network.served) !== true) continue
      this.#resting.delete(network)
      this.#networks.delete(network.name)
    }
  }
}

/** What one connection takes of its address and of the process. */
export class ConnectionBudget implements Holder {
  readonly #budgets: ClientBudgets
  readonly #network: Network
  readonly #isProxy: boolean
  readonly #end: (excess: Excess) => void
  #heldBytes = 0
  #resets: RateBudget | undefined
  #served = 0
  #isOver = false

  constructor(budgets: ClientBudgets, network: Network, isProxy: boolean, end: (excess: Excess) => void) {
    this.#budgets = budgets
    this.#network = network
    this.#isProxy = isProxy
    this.#end = end
  }

  get network(): string {
    return this.#network.name
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Runs a task in one of the next turns of the event loop. */
  later(task: Task): void {
    this.#budgets.turns.add(this.#network.lane, task)
  }

  /** Returns whether so much more may be held for the connection. */
  hasRoom(bytes: number): boolean {
    return this.#heldBytes + bytes <= this.#budgets.bounds.maxHeldBytesPerConnection
  }

  /** Counts what is held for the connection, or less of it. The connection may be over afterwards. */
  hold(grownBytes: number): void {
    if (this.#isOver || grownBytes === 0) return
    this.#count(grownBytes)
    if (grownBytes < 0) return
    this.#network.held.relieve()
    this.#budgets.held.relieve()
  }

  /** Counts a request that was answered: a busy client may reset more. */
  served(): void {
    this.#served++
    this.#budgets.served(this.#network)
  }

  /**
   * Counts a request that the client gave up right after it was sent. Past the budget of its address the connection
   * ends; past that of the process, if it has had its own share.
   */
  reset(): void {
    if (this.#isOver) return
    const { bounds, clock } = this.#budgets
    this.#resets ??= new RateBudget(bounds.resetsPerConnection, clock.nowMs(), this.#served)
    const isWithin = this.#resets.spend(clock.nowMs(), this.#served)
    const usedUp = this.#budgets.spendReset(this.#network, this.#isProxy)
    if (usedUp === 'address' || (usedUp === 'process' && !isWithin)) this.#finish('resets')
  }

  giveUp(): void {
    this.#finish('bytes')
  }

  /** Takes the connection out of all budgets. */
  close(): void {
    this.#release()
    this.#budgets.close(this, this.#network)
  }

  #finish(excess: Excess): void {
    if (this.#isOver) return
    this.#release()
    this.#budgets.ended[excess]++
    this.#end(excess)
  }

  #release(): void {
    this.#isOver = true
    this.#count(-this.#heldBytes)
  }

  #count(grownBytes: number): void {
    this.#heldBytes += grownBytes
    this.#budgets.held.add(grownBytes)
    if (!this.#isProxy) this.#network.held.add(grownBytes)
  }
}
