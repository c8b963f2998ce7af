import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { durationText } from 'sluice/internal/core/duration-text'
import { notify } from '../../kit/toasts.tsx'
import { setQuery } from '../../state/router.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Choice, PageHead } from '../../ui/parts.tsx'
import { barsPath, HEIGHT } from './bars.tsx'
import { Drawing } from './drawing.tsx'
import { NumberField } from './number-field.tsx'
import '../../styles/plot.css'
import './playground.css'
import { ResultRow } from './result-row.tsx'
import { DEFAULTS, type PlaygroundSettings, queryOf, readSettings, trafficOf, WINDOWS_MS } from './settings.ts'
import { type Result, simulate } from './simulate.ts'
import { BINS, PATTERN_NAMES, PATTERNS, type Pattern, type PatternName, totalsOf } from './traffic.ts'

/** Typing and drawing come first: the algorithms run when there was nothing new for so long. */
const LATER_MS = 40

/** Playground runs the algorithms of the service on traffic that one picks or draws. It asks the server nothing. */
export function Playground() {
  const [settings, setSettings] = useState(() => readSettings(new URLSearchParams(location.search)))
  const change = (changes: Partial<PlaygroundSettings>): void => setSettings((before) => ({ ...before, ...changes }))
  const traffic = trafficOf(settings)
  const counts = useMemo(() => totalsOf(traffic), [traffic])
  const shown = useResults(settings)
  const pattern: Pattern | undefined = settings.pattern === 'drawn' ? undefined : PATTERNS[settings.pattern]
  return (
    <>
      <PageHead title="Playground" about="The same minute of traffic, decided by each of the seven algorithms.">
        <Button icon="reset" onClick={() => setSettings(DEFAULTS)}>
          Start over
        </Button>
        <Button icon="copy" onClick={() => void copyLink()}>
          Copy link
        </Button>
      </PageHead>
      <div class="stack playground">
        <Card title="Traffic" actions={<span class="small soft">{pattern?.about ?? 'As you have drawn it.'}</span>}>
          <div class="stack">
            <Patterns settings={settings} onChange={change} />
            <Drawing counts={counts} onDraw={(drawn) => change({ pattern: 'drawn', drawn })} />
          </div>
        </Card>
        <Card title="Limit">
          <Numbers settings={settings} onChange={change} hasCallers={pattern?.callers !== undefined} />
        </Card>
        <Results {...shown} />
      </div>
    </>
  )
}

interface Shown {
  readonly settings: PlaygroundSettings
  readonly results: readonly Result[]
}

/** useResults returns the latest results, with the settings that they are of; new settings take a moment. */
function useResults(settings: PlaygroundSettings): Shown {
  const run = (): Shown => ({ settings, results: simulate(trafficOf(settings), settings) })
  const [shown, setShown] = useState(run)
  const isFirst = useRef(true)
  useEffect(() => {
    if (isFirst.current) {
      isFirst.current = false
      return
    }
    const timer = setTimeout(() => {
      setShown(run())
      setQuery(queryOf(settings))
    }, LATER_MS)
    return () => clearTimeout(timer)
  }, [settings])
  return shown
}

async function copyLink(): Promise<void> {
  try {
    await navigator.clipboard.writeText(location.href)
    notify('The link is copied. It shows what you see.')
  } catch {
    notify('The browser does not let pages copy here. The address of this page is the link.', { isBad: true })
  }
}

interface FormProps {
  readonly settings: PlaygroundSettings
  readonly onChange: (changes: Partial<PlaygroundSettings>) => void
}

function Patterns({ settings, onChange }: FormProps) {
  return (
    <div class="patterns" role="group" aria-label="Traffic pattern">
      {PATTERN_NAMES.map((name) => (
        <PatternButton key={name} name={name} isChosen={settings.pattern === name} onChange={onChange} />
      ))}
    </div>
  )
}

function PatternButton(props: {
  readonly name: PatternName
  readonly isChosen: boolean
  readonly onChange: FormProps['onChange']
}) {
  const { name, isChosen, onChange } = props
  const { title, about, traffic } = PATTERNS[name]
  const path = useMemo(() => {
    const totals = totalsOf(traffic)
    const most = Math.max(...totals)
    return barsPath(
      () => 0,
      (bin) => totals[bin] / most,
    )
  }, [traffic])
  return (
    <button
      type="button"
      class="pattern"
      aria-pressed={isChosen}
      title={about}
      onClick={() => onChange({ pattern: name })}
    >
      <svg viewBox={`0 0 ${BINS} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <path class="asked" d={path} />
      </svg>
      {title}
    </button>
  )
}

const WINDOW_OPTIONS = WINDOWS_MS.map((ms) => [String(ms), durationText(ms)] as const)

function Numbers({ settings, onChange, hasCallers }: FormProps & { readonly hasCallers: boolean }) {
  return (
    <div class="numbers">
      <NumberField name="limit" label="Limit" hint="Requests in a window" settings={settings} onChange={onChange} />
      <div class="field">
        <span class="label">Window</span>
        <Choice
          label="Window"
          options={WINDOW_OPTIONS}
          value={String(settings.windowMs)}
          onChoose={(ms) => onChange({ windowMs: Number(ms) })}
        />
        <span class="hint">They begin at 0 s</span>
      </div>
      <NumberField name="burst" label="Burst" hint="Of the three buckets" settings={settings} onChange={onChange} />
      <NumberField name="atOnce" label="At once" hint="Of concurrency" settings={settings} onChange={onChange} />
      <NumberField name="holdMs" label="Each takes, ms" hint="Of concurrency" settings={settings} onChange={onChange} />
      {hasCallers && (
        <div class="field">
          <span class="label">Counters</span>
          <Choice
            label="Counters"
            options={[
              ['shared', 'One for both'],
              ['own', 'One each'],
            ]}
            value={settings.isShared ? 'shared' : 'own'}
            onChoose={(value) => onChange({ isShared: value === 'shared' })}
          />
          <span class="hint">By the key of the rule</span>
        </div>
      )}
    </div>
  )
}

function Results({ settings, results }: Shown) {
  const most = Math.max(
    1,
    ...results.flatMap(({ admitted, refused }) => admitted.map((count, bin) => count + refused[bin])),
  )
  const pattern: Pattern | undefined = settings.pattern === 'drawn' ? undefined : PATTERNS[settings.pattern]
  const legend = (
    <span class="legend">
      <span class="row">
        <span class="swatch" />
        admitted
      </span>
      <span class="row">
        <span class="swatch plot-2" />
        refused
      </span>
      <span class="row">
        <span class="dashes" />
        the limit’s steady rate
      </span>
    </span>
  )
  return (
    <Card title="Side by side" actions={legend} isFlush>
      <ul class="results" aria-label="Algorithms">
        {results.map((result) => (
          <ResultRow
            key={result.algorithm}
            result={result}
            numbers={settings}
            most={most}
            callers={pattern?.callers ?? []}
          />
        ))}
      </ul>
    </Card>
  )
}
