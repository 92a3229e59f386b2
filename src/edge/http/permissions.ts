/** Pure: what a page may use of the browser, as the header Permissions-Policy says it. */

const denied = ['display-capture', 'geolocation', 'microphone', 'payment', 'usb']

/** `camera`: whether the page reads QR codes. */
export function permissionsPolicy({ camera }: { camera: boolean }): string {
  return [`camera=(${camera ? 'self' : ''})`, ...denied.map((name) => `${name}=()`)].join(', ')
}

export const permissionsHeader = 'Permissions-Policy'
