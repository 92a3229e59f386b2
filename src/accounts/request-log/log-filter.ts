/** Pure: reads the filters of the request log from a query. */
export interface LogFilter {
  from?: Date | null
  /** Excluded. */
  to?: Date | null
  keyId?: string | null
  operation?: string | null
  /** Both included. */
  statuses?: readonly [number, number] | null
  error?: string | null
}

export interface LogQuery {
  from?: string
  to?: string
  key?: string
  operation?: string
  /** Such as `404` or `4xx`. */
  status?: string
  error?: string
}

/** Returns the filter, or a sentence that says what is wrong. */
export function readLogFilter(query: LogQuery): LogFilter | { fault: string } {
  const from = timeOf(query.from)
  const to = timeOf(query.to)
  if (from === undefined || to === undefined)
    return { fault: 'from and to must be times such as 2026-05-14T09:00:00Z.' }
  if (from !== null && to !== null && from >= to) return { fault: 'from must be before to.' }
  return {
    from,
    to,
    keyId: query.key ?? null,
    operation: query.operation ?? null,
    statuses: statusesOf(query.status),
    error: query.error ?? null,
  }
}

/** Returns whether a call fits. The same rules stand in SQL for stored calls. */
export function fitsFilter(filter: LogFilter): (call: FilteredCall) => boolean {
  const { keyId, operation, statuses, error } = filter
  return (call) =>
    (keyId == null || call.keyId === keyId) &&
    (operation == null || call.operation === operation) &&
    (error == null || call.error === error) &&
    (statuses == null || (call.status >= statuses[0] && call.status <= statuses[1]))
}

interface FilteredCall {
  keyId: string | null
  operation: string
  status: number
  error: string | null
}

const timeForm = /^[1-9]\d{3}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})$/

/** Null if absent, undefined if it is no time. */
function timeOf(text: string | undefined): Date | null | undefined {
  if (text === undefined) return null
  const time = new Date(timeForm.test(text) ? text : Number.NaN)
  return Number.isNaN(time.getTime()) ? undefined : time
}

function statusesOf(status: string | undefined): [number, number] | null {
  if (status === undefined) return null
  const low = Number(status.replace('xx', '00'))
  return [low, status.endsWith('xx') ? low + 99 : low]
}
