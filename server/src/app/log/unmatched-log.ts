import type { UnmatchedReport } from '../../observe/unmatched.ts'
import type { Log } from './log.ts'

/** Logs what no rule matches. A domain without rules is hardly ever intended; a descriptor without one may be. */
export function unmatchedLog(log: Log): (report: UnmatchedReport) => void {
  return ({ kind, domain, keys, count }) => {
    const about = `${JSON.stringify(domain)} with the keys ${keys.join(', ')}`
    const fields = { kind, domain, keys, count }
    if (kind === 'unknown_domain') {
      const message = `not limited, because no rules define the domain: ${counted(count, 'request')}, the first to ${about}`
      log.warn('request.unmatched', message, fields)
    } else {
      const message = `not limited, because no rule matches: ${counted(count, 'descriptor')}, the first of ${about}`
      log.info('request.unmatched', message, fields)
    }
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
