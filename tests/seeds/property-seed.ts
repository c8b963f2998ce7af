import fc from 'fast-check'
import { PROPERTY_SEED } from './seeds.ts'

// Loaded before every test file of a project whose files share modules.
fc.configureGlobal({ seed: PROPERTY_SEED })
