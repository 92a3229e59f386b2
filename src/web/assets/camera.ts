/** Reads one QR code with the camera. Loaded when the camera is asked for. */
import read from './jsqr.ts'

/** The longer side of the picture that is searched. */
const sizeMax = 480

/** Shows the camera in `box`. Returns the text of the first code, or null once it is stopped. */
export async function scan(box: HTMLElement, stopped: AbortController): Promise<string | null> {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } })
  const video = document.createElement('video')
  video.srcObject = stream
  video.muted = true
  video.playsInline = true
  video.setAttribute('aria-label', 'Picture of the camera')
  const stop = document.createElement('button')
  stop.type = 'button'
  stop.className = 'button'
  stop.textContent = 'Stop the camera'
  box.replaceChildren(video, stop)
  box.hidden = false
  stop.addEventListener('click', () => stopped.abort())
  try {
    await video.play()
    const canvas = document.createElement('canvas')
    const context = canvas.getContext('2d', { willReadFrequently: true })
    if (context === null) return null
    while (!stopped.signal.aborted) {
      await new Promise((resolve) => requestAnimationFrame(resolve))
      const { videoWidth, videoHeight } = video
      if (videoWidth === 0) continue
      const scale = Math.min(1, sizeMax / Math.max(videoWidth, videoHeight))
      canvas.width = Math.round(videoWidth * scale)
      canvas.height = Math.round(videoHeight * scale)
      context.drawImage(video, 0, 0, canvas.width, canvas.height)
      const { data } = context.getImageData(0, 0, canvas.width, canvas.height)
      const code = read(data, canvas.width, canvas.height, { inversionAttempts: 'dontInvert' })
      if (code !== null && code.data !== '') return code.data
    }
    return null
  } finally {
    for (const track of stream.getTracks()) track.stop()
    box.replaceChildren()
    box.hidden = true
  }
}
