/** Pure: a queue from whose middle an item can leave, in constant time and without an object for each queue operation. */
export interface Link<Item> {
  /** Null in the ring itself, which is where its queue begins and ends. */
  item: Item | null
  before: Link<Item>
  after: Link<Item>
}

/** An empty queue; or, once it has an item, a link that is in no queue. */
export function createLink<Item>(): Link<Item> {
  const link = { item: null } as Link<Item>
  link.before = link
  link.after = link
  return link
}

/** Moves a link to the end of a queue, from wherever it is. */
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
