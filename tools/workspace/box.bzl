"""A message that stands out in a build log."""

def boxed(lines):
    """Returns `lines` as one string, framed so that nobody overlooks it.

    Args:
      lines: list of strings, each shown on a line of its own.
    """
    width = max([len(line) for line in lines])
    edge = "+" + "-" * (width + 2) + "+"
    framed = ["| " + line + " " * (width - len(line)) + " |" for line in lines]
    return "\n".join([edge] + framed + [edge]) + "\n"
