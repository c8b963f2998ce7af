#!/usr/bin/env node
import { SluiceError, withoutCredentials } from 'sluice/internal/core/errors'
import { didYouMean } from 'sluice/internal/core/nearest'
import { RulesError } from 'sluice/internal/core/rules/problems'
import { packageVersion } from '../app/settings/package-file.ts'

/** A command is loaded when it is called, and so is the text of --help: none of them waits for what another needs. */
const COMMANDS: ReadonlyMap<string, (args: readonly string[]) => Promise<void>> = new Map([
  ['serve', async (args: readonly string[]) => (await import('./serve.ts')).serve(args)],
  ['gateway', async (args: readonly string[]) => (await import('./gateway.ts')).gateway(args)],
  ['check', async (args: readonly string[]) => (await import('./check.ts')).check(args)],
  ['reset', async (args: readonly string[]) => (await import('./reset.ts')).reset(args)],
  ['top', async (args: readonly string[]) => (await import('./top.ts')).top(args)],
  ['health', async (args: readonly string[]) => (await import('./health.ts')).health(args)],
  ['simulate', async (args: readonly string[]) => (await import('./simulate.ts')).simulate(args)],
  ['suggest', async (args: readonly string[]) => (await import('./suggest.ts')).suggest(args)],
  ['size', async (args: readonly string[]) => (await import('./size.ts')).size(args)],
  ['token', async (args: readonly string[]) => (await import('./token.ts')).token(args)],
  ['audit', async (args: readonly string[]) => (await import('./audit.ts')).audit(args)],
  ['ledger', async (args: readonly string[]) => (await import('./ledger.ts')).ledger(args)],
  ['explain', async (args: readonly string[]) => (await import('./explain.ts')).explain(args)],
])

/** Carries out one command line. */
async function run([command, ...args]: readonly string[]): Promise<void> {
  if (command === undefined || command === 'help' || [command, ...args].some(isHelpFlag)) {
    const { HELP, SERVE_HELP, GATEWAY_HELP, SIMULATE_HELP, SUGGEST_HELP } = await import('./help.ts')
    const own = new Map([
      ['serve', SERVE_HELP],
      ['gateway', GATEWAY_HELP],
      ['simulate', SIMULATE_HELP],
      ['suggest', SUGGEST_HELP],
    ])
    process.stdout.write(own.get(command ?? '') ?? HELP)
  } else if (command === '--version' || command === '-v') {
    process.stdout.write(`sluice ${packageVersion()}\n`)
  } else if (COMMANDS.has(command)) {
    await COMMANDS.get(command)?.(args)
  } else {
    const hint = didYouMean(command, COMMANDS.keys())
    throw new SluiceError('COMMAND_UNKNOWN', 'sluice', `no command ${JSON.stringify(command)}${hint}`)
  }
}

function isHelpFlag(argument: string): boolean {
  return argument === '--help' || argument === '-h'
}

/** An expected error says all there is to say; of any other, the stack helps to find the fault. */
function isExpected(error: unknown): error is Error {
  return error instanceof SluiceError || error instanceof RulesError
}

run(process.argv.slice(2)).catch((error: unknown) => {
  const text = isExpected(error) ? error.message : String((error as Error).stack)
  process.stderr.write(`${withoutCredentials(text)}\n`)
  process.exitCode = 1
})
