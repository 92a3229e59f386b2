/**
 * The outbox: an event is written in the transaction that causes it, so it is sent if and only if
 * that transaction commits. Writes webhook_events.
 *
 * Events keep their order within a call, and from one transaction to the next that waited for it.
 * The caller holds the worker's row lock, so two changes of one worker never run at the same time.
 */
import { randomBytes } from 'node:crypto'
import { Compile } from 'typebox/compile'
import type { Tx } from '../../platform/db/db.ts'
import { firstFault } from '../../platform/json/shape-fault.ts'
import { type EventData, type EventType, eventTypeNames, eventTypes } from './event-types.ts'
import { envelopeText, eventId, eventIdRandomBytes } from './schema.ts'
import { insertEvents, type NewRow, withholdEvents } from './store.ts'

/** An event of any type, with the data of that type. */
export type NewEvent = { [Type in EventType]: EventOf<Type> }[EventType]

interface EventOf<Type extends EventType> {
  type: Type
  /** UUID, for consent and erasure. `data` names the same worker. */
  workerId: string
  data: EventData<Type>
}

/**
 * Writes the events in this order, with the time `at`. Throws if data does not fit its type
 * exactly: that is a defect, and the transaction must not commit.
 *
 * If `public_profile` or `score_sharing` is withdrawn, all earlier events of the worker that were
 * not sent yet are withheld, also dispatched ones; only events of consent are still sent. The
 * caller ensures that later changes of such a worker publish no other events.
 */
export async function publishEvents(tx: Tx, events: readonly NewEvent[], at: Date): Promise<void> {
  if (events.length === 0) return
  const random = randomBytes(eventIdRandomBytes * events.length)
  const rows = events.map((event, i) =>
    rowOf(event, { at, id: eventId(at, random.subarray(eventIdRandomBytes * i)) }),
  )
  await insertEvents(tx, rows, at)
  const withdrawn = events.filter(isWithdrawal).map((event) => event.workerId)
  if (withdrawn.length > 0)
    await withholdEvents(tx, withdrawn, { spared: 'candidate.consent_changed', at })
}

const shapes = new Map(eventTypeNames.map((type) => [type, Compile(eventTypes[type].data)]))

function rowOf(event: NewEvent, { id, at }: { id: string; at: Date }): NewRow {
  const { type, workerId, data } = event
  const shape = shapes.get(type)
  if (shape === undefined) throw new Error(`there is no event type ${type}`)
  if (!shape.Check(data)) {
    const { field, reason } = firstFault(shape, data)
    throw new Error(`${type}: ${field ?? 'data'} ${reason}`)
  }
  if (data.workerId !== workerId) throw new Error(`${type}: its data names another worker`)
  return { id, type, workerId, body: envelopeText({ id, type, data }, at) }
}

function isWithdrawal(event: NewEvent): boolean {
  return (
    event.type === 'candidate.consent_changed' &&
    event.data.permission !== 'search_listing' &&
    !event.data.granted
  )
}
