import { holdsPermits } from 'sluice/internal/core/limit'
import type { Rule } from 'sluice/internal/core/rules/rule-set'
import type { LayerMode } from 'sluice/internal/engine/load-shedder'
import type { LayerLookup, SwitchLookup } from 'sluice/internal/engine/quotas'
import { ALL_RULES } from '../../admin/switches/table.ts'
import { LAYER_DOMAIN, type RuleSwitch } from '../model.ts'

const LAYER_PREFIX = `${LAYER_DOMAIN}/`

/**
 * Holds the modes that operators set for rules and layers, which override what those say. A mode of one rule goes
 * before one for all; a layer that is off, or in shadow mode, lets no rule of it do more.
 */
export class SwitchBoard {
  readonly #byId = new Map<string, RuleSwitch>()
  readonly #layers = new Map<string, RuleSwitch['mode']>()

  get isEmpty(): boolean {
    return this.#byId.size === 0 && this.#layers.size === 0
  }

  get hasLayers(): boolean {
    return this.#layers.size > 0
  }

  put(id: string, record: RuleSwitch | undefined): void {
    if (id.startsWith(LAYER_PREFIX)) {
      const layer = id.slice(LAYER_PREFIX.length)
      if (record === undefined) this.#layers.delete(layer)
      else this.#layers.set(layer, record.mode)
    } else if (record === undefined) this.#byId.delete(id)
    else this.#byId.set(id, record)
  }

  copyTo(other: SwitchBoard): void {
    for (const [id, record] of this.#byId) other.#byId.set(id, record)
    for (const [layer, mode] of this.#layers) other.#layers.set(layer, mode)
  }

  /** Looks up the switch of a rule: by its id, or its name. */
  readonly find: SwitchLookup = (domain: string, { id, name, limit }: Rule) => {
    const own = this.#byId.get(`${domain}/${id}`) ?? (name === id ? undefined : this.#byId.get(`${domain}/${name}`))
    const mode = (own ?? this.#byId.get(ALL_RULES))?.mode
    if (this.#layers.size === 0) return mode
    const layer = this.#layers.get(holdsPermits(limit) ? 'concurrency' : 'rate')
    return layer === undefined || layer === 'enforce' || mode === 'off' ? mode : layer
  }

  /** Looks up the mode of a layer. */
  readonly layer: LayerLookup = (layer): LayerMode | undefined => {
    const mode = this.#layers.get(layer)
    return mode === 'enforce' ? 'on' : mode
  }
}
