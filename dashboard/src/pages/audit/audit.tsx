import { useEffect, useRef, useState } from 'preact/hooks'
import { ask } from '../../api/client.ts'
import type { AuditEntry, Operations } from '../../api/operations.ts'
import { type ApiProblem, asProblem } from '../../api/problem.ts'
import { messageOf, notify } from '../../kit/toasts.tsx'
import { type Pages, usePages } from '../../kit/use-pages.ts'
import { place } from '../../state/router.ts'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Card, Notice, PageHead, Skeleton, State, Trouble } from '../../ui/parts.tsx'
import { exportAddress, exportAll, type Format, keepFile } from './audit-export.ts'
import { type AuditFilter, type AuditQuery, filterOf, isMeant, queryOf } from './audit-filter.ts'
import { EntryView } from './entry-view.tsx'
import { FilterForm } from './filter-form.tsx'
import './audit.css'

/** Audit shows every change, by a filter that stands in the address. */
export function Audit() {
  const { query: search, hash } = place.value
  const filter = filterOf(search, hash)
  const query = queryOf(filter)
  const list = usePages(`audit ${JSON.stringify(query)}`, async (cursor, signal) => {
    return (await ask('listAudit', { query: { ...query, cursor }, signal })).body
  })
  const isLookedFor = filter.sequence !== undefined || filter.atMs !== undefined
  return (
    <>
      <PageHead title="Audit" about="Every change: who, when, what, why and from where. Entries cannot be changed.">
        <Export query={query} format="csv" text="CSV" />
        <Export query={query} format="jsonl" text="JSON lines" />
      </PageHead>
      <div class="stack">
        <Verify isAsked={search.has('verify')} />
        <Card>
          <FilterForm filter={filter} seen={list.data ?? []} />
        </Card>
        {isLookedFor && (
          <Notice>
            {filter.sequence === undefined
              ? 'Changes up to a time are shown.'
              : `Changes up to entry ${filter.sequence} are shown.`}{' '}
            <a href="/audit">Show the newest</a>
          </Notice>
        )}
        <Card isFlush>
          <Entries list={list} filter={filter} />
        </Card>
      </div>
    </>
  )
}

function Entries({ list, filter }: { readonly list: Pages<AuditEntry>; readonly filter: AuditFilter }) {
  const { data: items, problem, reload, hasMore, isLoadingMore, more } = list
  if (items === undefined) return problem ? <Trouble problem={problem} retry={reload} /> : <Skeleton lines={8} />
  if (items.length === 0) {
    return (
      <State icon="audit" title="No change is like that">
        <a href="/audit">Show all changes</a>
      </State>
    )
  }
  return (
    <>
      <ol aria-label="Changes, the newest first">
        {items.map((entry) => (
          <EntryView key={entry.sequence} entry={entry} isMeant={isMeant(filter, entry)} />
        ))}
      </ol>
      {problem && <Trouble problem={problem} retry={more} />}
      {hasMore && <More isLoading={isLoadingMore} more={more} />}
    </>
  )
}

/** More reads the next page when it comes into view, or when it is pressed. */
function More({ isLoading, more }: { readonly isLoading: boolean; readonly more: () => void }) {
  const box = useRef<HTMLDivElement>(null)
  const latest = useRef(more)
  latest.current = more
  useEffect(() => {
    const { current } = box
    if (current === null) return
    const observer = new IntersectionObserver(([seen]) => seen?.isIntersecting && latest.current(), {
      rootMargin: '400px',
    })
    observer.observe(current)
    return () => observer.disconnect()
  }, [])
  return (
    <div class="state" ref={box}>
      <Button isDisabled={isLoading} onClick={more}>
        {isLoading ? 'Loading…' : 'Show older changes'}
      </Button>
    </div>
  )
}

const TYPES: Readonly<Record<Format, string>> = { csv: 'text/csv', jsonl: 'application/jsonl' }

/** Export is a link to the first page of the filter; a click keeps all of them as one file. */
function Export({
  query,
  format,
  text,
}: {
  readonly query: AuditQuery
  readonly format: Format
  readonly text: string
}) {
  const [isBusy, setBusy] = useState(false)
  const keep = async (): Promise<void> => {
    setBusy(true)
    try {
      const { parts, isWhole } = await exportAll(query, format)
      keepFile(parts, `sluice-audit.${format}`, TYPES[format])
      if (!isWhole)
        notify('The file has the newest 100,000 changes. Narrow the filter for older ones.', { isBad: true })
    } catch (error) {
      notify(`The export failed: ${messageOf(error)}`, { isBad: true })
    }
    setBusy(false)
  }
  return (
    <a
      class="button"
      href={exportAddress(query, format)}
      download={`sluice-audit.${format}`}
      aria-label={`Export as ${text}`}
      aria-busy={isBusy}
      onClick={(event) => {
        event.preventDefault()
        if (!isBusy) void keep()
      }}
    >
      <Icon name="download" />
      {isBusy ? 'Exporting…' : text}
    </a>
  )
}

type Verification = Operations['verifyAudit']['answer']

/** Verify asks the server whether the chain of entries is whole, and says the answer in words. */
function Verify({ isAsked }: { readonly isAsked: boolean }) {
  const [result, setResult] = useState<Verification>()
  const [problem, setProblem] = useState<ApiProblem>()
  const [isBusy, setBusy] = useState(false)
  const verify = async (): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      setResult((await ask('verifyAudit', {})).body)
    } catch (error) {
      setProblem(asProblem(error))
    }
    setBusy(false)
  }
  useEffect(() => {
    if (isAsked) void verify()
  }, [isAsked])
  return (
    <Card>
      <div class="row wrap apart">
        <div role="status" class="row">
          <Verdict result={result} problem={problem} isBusy={isBusy} />
        </div>
        <Button icon="check" isDisabled={isBusy} onClick={() => void verify()}>
          Verify the chain
        </Button>
      </div>
    </Card>
  )
}

interface VerdictProps {
  readonly result: Verification | undefined
  readonly problem: ApiProblem | undefined
  readonly isBusy: boolean
}

function Verdict({ result, problem, isBusy }: VerdictProps) {
  if (isBusy) return <>Reading the whole log…</>
  if (problem) return <span class="break">It could not be verified: {problem.message}</span>
  if (result === undefined) {
    return <span class="soft">Each entry is chained to the one before it by a hash, so that an edit shows.</span>
  }
  if (result.broken !== null) {
    const { sequence, reason } = result.broken
    return (
      <span class="break">
        <strong>The chain is broken.</strong> The first entry that is wrong is{' '}
        <a href={`/audit#${sequence}`}>#{sequence}</a>: {reason}
      </span>
    )
  }
  return (
    <span class="break">
      <strong>The chain is whole:</strong> {result.entries.toLocaleString()} entries, none changed, removed or added.
      {result.head !== null && (
        <>
          {' '}
          Head <code title={result.head}>{result.head.slice(0, 12)}</code>
        </>
      )}
      {result.anchors.length === 0 && (
        <>
          {' '}
          Its end was compared with nothing outside of the database: an older copy of the whole log would look whole,
          too.
        </>
      )}
    </span>
  )
}
