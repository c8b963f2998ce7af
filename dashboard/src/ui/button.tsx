import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

interface ButtonProps {
  readonly children?: ComponentChildren
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet'
  readonly icon?: IconName | undefined
  /** What a screen reader says, and a title: for a button without words. */
  readonly label?: string
  readonly isSmall?: boolean
  readonly isDisabled?: boolean | undefined
  readonly isSubmit?: boolean
  readonly title?: string
  /** Why it cannot be used now: it is shown as its title, and the button does nothing. */
  readonly why?: string | undefined
  /** For a button that opens something next to it. */
  readonly isExpanded?: boolean
  readonly onClick?: (event: MouseEvent) => void
}

export function Button(props: ButtonProps) {
  const {
    children,
    kind = 'plain',
    icon,
    label,
    isSmall,
    isDisabled,
    isSubmit,
    title,
    why,
    isExpanded,
    onClick,
  } = props
  const names = ['button', kind, isSmall && 'small', !children && 'icon'].filter(Boolean).join(' ')
  return (
    <button
      type={isSubmit ? 'submit' : 'button'}
      class={names}
      disabled={isDisabled}
      aria-disabled={why === undefined ? undefined : 'true'}
      aria-expanded={isExpanded}
      aria-label={label}
      title={why ?? title ?? label}
      onClick={why === undefined ? onClick : (event) => event.preventDefault()}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
