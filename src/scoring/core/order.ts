/** Pure: sorting in place, for lists that mostly hold few items. */

/** Up to this length an insertion sort is faster: a call of `sort` costs as much as a short list. */
const fewMax = 12

/** The order must be total, so that the result does not depend on the order of the input. */
export function sortInPlace<Item>(items: Item[], order: (a: Item, b: Item) => number): void {
  if (items.length > fewMax) {
    items.sort(order)
    return
  }
  for (let end = 1; end < items.length; end++) {
    const next = items[end] as Item
    let at = end
    for (; at > 0 && order(items[at - 1] as Item, next) > 0; at--) items[at] = items[at - 1] as Item
    items[at] = next
  }
}
