import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import type { Mode } from './switch-state.ts'

const CHOICES: readonly (readonly [mode: Mode, title: string, means: string])[] = [
  ['shadow', 'Stop refusing', 'All rules go to shadow mode: they count and report, and refuse nobody.'],
  ['off', 'Switch everything off', 'No rule counts and nobody is limited. For when counting itself is the trouble.'],
  ['enforce', 'Enforce everything', 'All rules refuse what is over their limits, also those in shadow mode.'],
]

interface IncidentProps {
  readonly inForce: Mode | undefined
  readonly onChoose: (mode: Mode) => void
  readonly onClose: () => void
}

/** IncidentDialog sets apart what is about all rules at once. */
export function IncidentDialog({ inForce, onChoose, onClose }: IncidentProps) {
  return (
    <Dialog title="All rules at once" onClose={onClose}>
      <p class="soft">
        For an incident. It is in force on every node with the next request, until somebody removes the switch. You see
        what it does before anything happens.
      </p>
      <ul class="stack close">
        {CHOICES.map(([mode, title, means]) => (
          <li key={mode} class="incident-choice">
            <div>
              <strong>{title}</strong>
              <p class="small soft">{means}</p>
            </div>
            <Button kind="danger" isDisabled={inForce === mode} onClick={() => onChoose(mode)}>
              {inForce === mode ? 'In force' : title}
            </Button>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
