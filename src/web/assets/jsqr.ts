/** The types of jsQR. The server sends the library in place of this file. */
declare const read: (
  data: Uint8ClampedArray,
  width: number,
  height: number,
  options: { inversionAttempts: 'dontInvert' },
) => { data: string } | null
export default read
