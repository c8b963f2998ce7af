import { defineConfig } from 'vitest/config'

const project = (name: string, include: string[]) => ({
  extends: true as const,
  test: { name, include },
})

export default defineConfig({
  test: {
    environment: 'node',
    retry: 0,
    reporters: ['default', './scripts/closing-line-reporter.mjs'],
    projects: [
      project('sluice', ['src/**/*.test.ts', 'tests/**/*.test.ts']),
      project('client', ['client/src/**/*.test.ts']),
      project('dashboard', ['dashboard/src/**/*.test.ts']),
      project('scripts', ['scripts/**/*.test.mjs']),
    ],
  },
})
