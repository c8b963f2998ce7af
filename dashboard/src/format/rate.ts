import { formatCount } from './count.ts'

/** formatRate writes how many a second: a tenth where there are few, so that little is not nothing. */
export function formatRate(perSecond: number): string {
  if (perSecond === 0 || perSecond >= 10) return formatCount(perSecond)
  return perSecond < 0.1 ? '<0.1' : String(Math.floor(perSecond * 10) / 10)
}

/** formatShare writes a part of one as a percentage. All of it, and nothing, are only said where that is so. */
export function formatShare(share: number): string {
  if (share <= 0) return '0 %'
  if (share >= 1) return '100 %'
  if (share < 0.001) return '<0.1 %'
  return share < 0.1 ? `${Math.floor(share * 1_000) / 10} %` : `${Math.floor(share * 100)} %`
}
