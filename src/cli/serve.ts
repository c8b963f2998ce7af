import { readConfig } from '../app/config.ts'
import { type Service, startService } from '../app/wire.ts'
import { summary } from './counted.ts'
import { version } from './version.ts'

/** serve runs the service until it is told to stop (SIGTERM, SIGINT). SIGHUP reads the rules again. */
export async function serve(args: readonly string[]): Promise<void> {
  const config = readConfig(args, process.env)
  let isStarted = false
  let told = 0
  const tell = (line: string): void => {
    told++
    log(line)
  }
  const starting = startService(config, {
    rulesLoaded: (rules) => {
      if (isStarted) tell(`rules are in force: ${summary(rules)}`)
    },
    rulesRefused: ({ message }) => {
      tell(`rules are refused, the last good ones stay in force:\n  ${message.replaceAll('\n', '\n  ')}`)
    },
    storeTold: log,
  })
  // From here on: to a process that has not said yet what SIGHUP means to it, it means the end.
  process.on('SIGHUP', () => {
    void starting.then(
      (service) => reload(service, () => told),
      () => undefined,
    )
  })
  const service = await starting
  const stop = (): void => {
    void service.close().then(() => log('stopped'))
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  isStarted = true
  process.stdout.write(config.isExample ? welcome(service) : started(service, config.rules))
}

/** reload reads the rules again. Whoever sends a signal gets a line for it, whatever came of it. */
async function reload(service: Service, told: () => number): Promise<void> {
  const before = told()
  const isGood = await service.reload()
  if (told() > before) return
  log(isGood ? 'rules were read again: nothing changed' : 'rules were read again: still refused, as told above')
}

function log(line: string): void {
  process.stdout.write(`sluice: ${line}\n`)
}

/** started says where the service is and what it runs on. */
function started(service: Service, paths: readonly string[]): string {
  return `${listening(service)}${paths.join(', ')}\nChanged rules come into force by themselves; SIGHUP reads them at once.\n`
}

function listening(service: Service): string {
  return `sluice ${version()} is listening on ${service.url}\ncounters ${service.storeName}; ${summary(service.rules())}, from `
}

/** welcome says as much, and what to try. The commands work as they stand. */
function welcome(service: Service): string {
  const check = `curl -id '{"domain":"api","descriptors":[{"entries":[{"key":"user","value":"alice"}]}]}' ${service.url}/v1/check`
  return `${listening(service)}the examples (examples/rules)

Three things to try in another terminal:

  1. Ask whether alice may pass. She has 5 a minute:
     ${check}

  2. Ask six more times. The last ones are answered 429, with Retry-After and the reason:
     for i in 1 2 3 4 5 6; do ${check}; done

  3. Look at her budget without spending any (cost 0):
     ${check.replace('}]}]}', '}]}],"cost":0}')}

Ctrl-C stops it.
`
}
