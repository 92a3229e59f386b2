/** Pure: sorting in place, for lists that are mostly of a handful of items. */

/** Up to here it is quicker by hand: a call of `sort` alone costs as much as ordering a few. */
const fewMax = 12

/** Sorts in place; the order must be total over what matters, so that it never shows how the list came. */
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
