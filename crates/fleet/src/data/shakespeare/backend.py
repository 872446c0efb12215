# Stands in for setuptools while pip downloads the package: pip asks a source package for its name
# and version before it keeps the file. With this answer nothing of the package is ever executed,
# and no build tool is fetched.
import os


def prepare_metadata_for_build_wheel(directory, config_settings=None):
    folder = "NAME-VERSION.dist-info"
    os.mkdir(os.path.join(directory, folder))
    with open(os.path.join(directory, folder, "METADATA"), "w") as metadata:
        metadata.write("Metadata-Version: 2.1\nName: NAME\nVersion: VERSION\n")
    return folder


def get_requires_for_build_wheel(config_settings=None):
    return []


class Legacy:
    prepare_metadata_for_build_wheel = staticmethod(prepare_metadata_for_build_wheel)
    get_requires_for_build_wheel = staticmethod(get_requires_for_build_wheel)


__legacy__ = Legacy
