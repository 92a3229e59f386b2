/**
 * Pure: a queue that gives up any item in constant time, without an allocation for each operation.
 */
export interface Link<Item> {
  /** Null in the ring itself, where its queue begins and ends. */
  item: Item | null
  before: Link<Item>
  after: Link<Item>
}

/** Returns an empty queue. Once it has an item, it is a link outside every queue. */
export function createLink<Item>(): Link<Item> {
  const link = { item: null } as Link<Item>
  link.before = link
  link.after = link
  return link
}

/** Moves a link to the end of a queue, from any queue it is in. */
export function append<Item>(ring: Link<Item>, link: Link<Item>): void {
  unlink(link)
  link.before = ring.before
  link.after = ring
  ring.before.after = link
  ring.before = link
}

export function unlink<Item>(link: Link<Item>): void {
  link.before.after = link.after
  link.after.before = link.before
  link.before = link
  link.after = link
}

export function first<Item>(ring: Link<Item>): Item | null {
  return ring.after.item
}
