/**
 * Random tests draw the same cases in every run: a commit passes always, or never. `SLUICE_SEED=7 npm test` draws others, of which each
 * test that fails prints the seed; `SLUICE_SEEDS=300` draws those of so many seeds, from SLUICE_SEED on, or from the time of day. A
 * seed that fails is added to the fixed ones of its test.
 */
const { SLUICE_SEED, SLUICE_SEEDS } = process.env
const BEYOND = 2 ** 31 - 1
const first = Number(SLUICE_SEED ?? Date.now())
const count = Number(SLUICE_SEEDS ?? (SLUICE_SEED === undefined ? 0 : 1))

/** Seeds of this run alone, in addition to the fixed ones of a test: none by default. */
export const NEW_SEEDS: readonly number[] = Array.from({ length: count }, (_, i) => (first + i) % BEYOND)

/** The seed of properties that name none. */
export const PROPERTY_SEED = NEW_SEEDS[0] ?? 1
