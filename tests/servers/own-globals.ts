import { afterAll } from 'vitest'
import { rememberProperties } from './globals.ts'

// Loaded before every test file: what a file, or a framework that it uses, puts in the place of a global (Hono has a Response of its own,
// for one) is not there for the next file of its worker.
afterAll(rememberProperties(globalThis))
