import { useEffect } from 'preact/hooks'
import { Skeleton, Trouble } from '../ui/parts.tsx'
import { Dialog } from './dialog.tsx'
import { openDialog } from './dialogs.tsx'
import { useResource } from './use-resource.ts'

interface AfterProps<T> {
  readonly title: string
  readonly read: (signal: AbortSignal) => Promise<T>
  readonly open: (data: T) => void
}

/** openAfter opens a dialog that needs something from the server: until that is read, and if it cannot be, a dialog shows so. */
export function openAfter<T>(title: string, read: AfterProps<T>['read'], open: AfterProps<T>['open']): void {
  openDialog(<Reading {...{ title, read, open }} />)
}

function Reading<T>({ title, read, open }: AfterProps<T>) {
  const { data, problem, reload } = useResource(title, read)
  useEffect(() => {
    if (data !== undefined) open(data)
  }, [data])
  return (
    <Dialog title={title}>{problem ? <Trouble problem={problem} retry={reload} /> : <Skeleton lines={3} />}</Dialog>
  )
}
