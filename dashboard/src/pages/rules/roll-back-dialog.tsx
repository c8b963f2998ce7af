import { useMemo } from 'preact/hooks'
import { type Asked, ask } from '../../api/client.ts'
import type { RuleText } from '../../api/operations.ts'
import { useResource } from '../../api/resource.ts'
import { ChangeDialog } from '../../ui/change-dialog.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Skeleton, Trouble } from '../../ui/parts.tsx'
import { DiffView } from './diff-view.tsx'
import { rollBack } from './put-rules-dialog.tsx'
import { readActive } from './rules-data.ts'
import { Effect } from './switch-dialog.tsx'

interface RollBackProps {
  readonly version: number
  readonly onClose: () => void
  readonly onDone: () => void
}

/** RollBackDialog puts a former version in force again, held to the active one that is shown. */
export function RollBackDialog({ version, onClose, onDone }: RollBackProps) {
  const both = useResource(`roll back ${version}`, async (signal) => {
    const [former, active] = await Promise.all([
      ask('readRuleVersion', { params: { version }, signal }),
      readActive(signal),
    ])
    return { former: former.body, active }
  })
  if (both.data === undefined) {
    return (
      <Dialog title={`Roll back to version ${version}`} onClose={onClose}>
        {both.problem ? <Trouble problem={both.problem} retry={both.reload} /> : <Skeleton />}
      </Dialog>
    )
  }
  return <Confirm {...both.data} onClose={onClose} onDone={onDone} />
}

interface ConfirmProps extends Omit<RollBackProps, 'version'> {
  readonly former: RuleText
  readonly active: RuleText | null
}

function Confirm({ former, active, onClose, onDone }: ConfirmProps) {
  const seen = active?.version
  const { version } = former
  const asked = useMemo<Asked<'rollBackRules'>>(
    () => ({ params: { version }, ...(seen !== undefined && { version: seen }) }),
    [version, seen],
  )
  return (
    <ChangeDialog<'rollBackRules'>
      title={`Roll back to version ${version}`}
      operation="rollBackRules"
      asked={asked}
      confirm="Roll back"
      isWide
      said={`The rules of version ${version} are in force again, as version ${(seen ?? 0) + 1}.`}
      {...(seen !== undefined && { undo: (answer) => rollBack(seen, answer.version) })}
      show={(preview) => (
        <>
          <p>
            The text of version {version} becomes version {(seen ?? 0) + 1}, and is in force on every node within a
            second.
          </p>
          <DiffView before={active?.text ?? ''} after={former.text} label="What changes in the rules" />
          <Effect preview={preview} />
        </>
      )}
      onClose={onClose}
      onDone={onDone}
    />
  )
}
